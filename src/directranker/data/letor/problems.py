r"""Error messages for lines of LETOR text.

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
"""A longer line raises an error, so that no text takes much more memory than its documents."""
TOO_LONG = f"the line is longer than {MAX_LINE_BYTES >> 20} MB; check that this is LETOR text"
NO_DOCUMENTS = "contains no documents"

_MAX_EXCERPT = 40  # characters of an invalid token
_LAST_INDEX = re.compile(rb"([0-9]+):[^\s#]*[ \t]*$")


def describe_problem(
    problem: Problem, text: bytearray | mmap, position: int, *, max_features: int = 0
) -> str:
    """Return the message for the problem of the token at this position."""
    token = _extract_token(text, position)
    index = token.partition(":")[0]
    messages = {
        Problem.LABEL: f"the label '{token}' is not a finite number",
        Problem.QUERY: "qid: without an id",
        Problem.QUERY_POSITION: f"'{token}' among the features; give qid once, right after the label",
        Problem.FEATURE: f"'{token}' where index:value was expected",
        Problem.VALUE: f"the value of '{token}' is not a number",
        Problem.INDEX_ORDER: f"feature index {index} after {_find_previous_index(text, position)}; "
        "indices must increase",
        Problem.INDEX_ZERO: "feature index 0; indices start at 1 unless zero_based is set",
        Problem.INDEX_LARGE: f"feature index {index} is higher than the {max_features} features allowed",
        Problem.NON_FINITE: f"the value of '{token}' is not a finite float32; allow_non_finite "
        "(`directranker convert --allow-non-finite`) accepts it",
    }
    return messages[problem]


def _extract_token(text: bytearray | mmap, position: int) -> str:
    """Return the token around a position, shortened if it is long."""
    start = max(text.rfind(blank, 0, position) for blank in (b" ", b"\t", b"\n")) + 1
    end = position
    while text[end] not in b" \t\r\n#":
        end += 1
    excerpt = bytes(text[start : min(end, start + _MAX_EXCERPT)]).decode(errors="replace")
    return excerpt + ("…" if end - start > _MAX_EXCERPT else "")


def _find_previous_index(text: bytearray | mmap, position: int) -> str:
    line_start = text.rfind(b"\n", 0, position) + 1
    match = _LAST_INDEX.search(bytes(text[line_start:position]))
    return match[1].decode() if match else "a higher one"
