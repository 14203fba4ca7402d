r"""What is wrong with a line of LETOR text, in words.

>>> from directranker.data.letor.kernels import Problem
>>> describe_problem(Problem.VALUE, bytearray(b"0 qid:1 1:0.5 2:abc\n"), 14)
"the value of '2:abc' is not a number"
"""

from __future__ import annotations

import re
from mmap import mmap

from directranker.data.letor.kernels import Problem

__all__ = ["MAX_LINE_BYTES", "NO_DOCUMENTS", "TOO_LONG", "describe_problem"]

MAX_LINE_BYTES = 1 << 28
"""A longer line is an error, so that no text takes more memory than its documents need, and some of these."""
TOO_LONG = f"the line is longer than {MAX_LINE_BYTES >> 20} MB; is this LETOR text?"
NO_DOCUMENTS = "holds no documents"

_SHOWN = 40  # letters of a broken token
_LAST_INDEX = re.compile(rb"([0-9]+):[^\s#]*[ \t]*$")


def describe_problem(problem: Problem, text: bytearray | mmap, where: int, *, most_features: int = 0) -> str:
    """Say what is wrong with the token at this place."""
    found = _token(text, where)
    index = found.partition(":")[0]
    words = {
        Problem.LABEL: f"the label '{found}' is not a finite number",
        Problem.QUERY: "qid: without an id",
        Problem.QUERY_PLACE: f"'{found}' among the features; qid must stand once, right behind the label",
        Problem.FEATURE: f"'{found}' where index:value was expected",
        Problem.VALUE: f"the value of '{found}' is not a number",
        Problem.INDEX_ORDER: f"feature index {index} after {_index_before(text, where)}; indices must grow",
        Problem.INDEX_ZERO: "feature index 0; indices start at 1 unless zero_based is set",
        Problem.INDEX_LARGE: f"feature index {index} is higher than the {most_features} features allowed",
        Problem.NON_FINITE: f"the value of '{found}' is not a finite float32; allow_non_finite "
        "(`directranker convert --allow-non-finite`) accepts it",
    }
    return words[problem]


def _token(text: bytearray | mmap, where: int) -> str:
    """Show the whole token around a place."""
    start = max(text.rfind(blank, 0, where) for blank in (b" ", b"\t", b"\n")) + 1
    end = where
    while text[end] not in b" \t\r\n#":
        end += 1
    shown = bytes(text[start : min(end, start + _SHOWN)]).decode(errors="replace")
    return shown + ("…" if end - start > _SHOWN else "")


def _index_before(text: bytearray | mmap, where: int) -> str:
    line_start = text.rfind(b"\n", 0, where) + 1
    match = _LAST_INDEX.search(bytes(text[line_start:where]))
    return match[1].decode() if match else "a higher one"
