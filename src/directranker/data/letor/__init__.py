"""Read LETOR and SVMlight text in one pass by compiled kernels, and write it.

>>> parse_letor(b"1 qid:7 1:0.5 2:3 # doc").features.tolist()
[[0.5, 3.0]]
"""

from directranker.data.letor.reading import Missing, PathLike, open_letor, parse_letor, read_letor
from directranker.data.letor.writing import write_letor

__all__ = ["Missing", "PathLike", "open_letor", "parse_letor", "read_letor", "write_letor"]
