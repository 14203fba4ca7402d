from .batches import Batch as Batch
from .batches import Batches as Batches
from .batches import QueryGroups as QueryGroups
from .loop import Trained as Trained
from .loop import TrainingOptions as TrainingOptions
from .loop import train as train
from .records import EpochRecord as EpochRecord

__all__: list[str]
