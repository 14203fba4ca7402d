from .batches import Batch as Batch
from .batches import Batches as Batches
from .data import TrainingData as TrainingData
from .encoded_features import EncodedFeatures as EncodedFeatures
from .loop import TrainingOptions as TrainingOptions
from .loop import TrainingResult as TrainingResult
from .loop import train as train
from .records import EpochRecord as EpochRecord

__all__: list[str]
