"""A literal reader of LETOR text: the grammar by regular expressions, numbers by Python's float."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

NUMBER = re.compile(rb"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
SPECIAL = re.compile(rb"[+-]?(nan|inf|infinity)", re.IGNORECASE)
FEATURE = re.compile(rb"([0-9]+):(.*)", re.DOTALL)
QUERY = re.compile(rb"qid:(.*)", re.IGNORECASE | re.DOTALL)


class MalformedError(Exception):
    """An invalid line; the argument is its number."""


@dataclass
class Lines:
    """The content of all lines of a text."""

    labels: list[float] = field(default_factory=list)
    queries: list[bytes | None] = field(default_factory=list)
    features: list[dict[int, np.float32]] = field(default_factory=list)
    comments: list[bytes] = field(default_factory=list)


def read(text: bytes, *, allow_non_finite: bool = False, max_features: int = 100_000) -> Lines:
    """Read all lines, or raise `MalformedError` with the number of the first invalid one."""
    lines = Lines()
    if text.startswith(b"\xef\xbb\xbf"):
        text = text[3:]
    for number, line in enumerate(text.split(b"\n"), start=1):
        stripped = line.rstrip(b"\r") if b"#" in line else line.removesuffix(b"\r")
        before, hash_sign, comment = stripped.partition(b"#")
        tokens = [token for token in re.split(rb"[ \t]+", before) if token]
        if tokens:
            try:
                _read_line(tokens, lines, allow_non_finite, max_features)
            except ValueError:
                raise MalformedError(number) from None
            lines.comments.append(comment if hash_sign else b"")
    return lines


def _read_line(tokens: list[bytes], lines: Lines, allow_non_finite: bool, max_features: int) -> None:
    label = _parse_number(tokens.pop(0), allow_non_finite=False, width=np.float64)
    query = QUERY.fullmatch(tokens[0]) if tokens else None
    if query:
        tokens.pop(0)
        if not query[1]:
            raise ValueError("no id")
    query_id = query[1] if query else None
    if lines.queries and (query_id is None) != (lines.queries[-1] is None):
        raise ValueError("some lines with a query, some without")
    features: dict[int, np.float32] = {}
    last = 0
    for token in tokens:
        match = FEATURE.fullmatch(token)
        if not match or len(match[1]) > 10 or not last < int(match[1]) <= max_features:
            raise ValueError(token)
        last = int(match[1])
        value = _parse_number(match[2], allow_non_finite=allow_non_finite, width=np.float32)
        with np.errstate(over="ignore"):
            features[last] = np.float32(value)
    lines.labels.append(label)
    lines.queries.append(query_id)
    lines.features.append(features)


def _parse_number(token: bytes, *, allow_non_finite: bool, width: type[np.floating]) -> float:
    if not NUMBER.fullmatch(token) and not (allow_non_finite and SPECIAL.fullmatch(token)):
        raise ValueError(token)
    value = float(token)
    with np.errstate(over="ignore"):
        if not allow_non_finite and not np.isfinite(width(value)):
            raise ValueError(token)
    return value
