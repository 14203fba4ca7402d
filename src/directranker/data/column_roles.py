"""The roles of a table's columns: label, query id, document id and features; and the types each allows.

>>> import pyarrow as pa
>>> schema = pa.table({"query": ["a"], "relevance": [1], "bm25": [2.5]}).schema
>>> ColumnRoles(query="query").resolve(schema).features
['bm25']
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from directranker.errors import DataError

__all__ = [
    "ColumnRoles",
    "format_in_one_line",
    "is_numeric_type",
    "name_column_in_errors",
    "resolve_feature_names",
]

MAX_LIST_SIZE = 1_000_000  # features in a list; a file may claim any number


@dataclass(frozen=True)
class ColumnRoles:
    """The name of the column of each role; `features=None` means all other columns."""

    relevance: str = "relevance"
    query: str | None = "qid"
    document: str | None = "docid"
    features: Sequence[str] | None = None

    def resolve(self, schema: pa.Schema, *, need_labels: bool = True) -> ColumnRoles:
        """Check that the columns exist and fill in the names of the features."""
        self._check_names()
        known = set(schema.names)
        document = None if self.document == "docid" and "docid" not in known else self.document
        special = [name for name in (self.relevance, self.query, document) if name is not None]
        features = self.features
        if features is None:
            excluded = {*special, *_find_index_columns(schema)}
            features = [name for name in schema.names if name not in excluded]
        for name in [*special, *features]:
            if name not in known and (need_labels or name != self.relevance):
                names = ", ".join(schema.names)
                raise DataError(f"no column {name!r}; the columns are {names}{self._get_hint(name)}")
        if not features:
            raise DataError("there are no feature columns besides relevance, query and document")
        counts = Counter(schema.names)
        for name in [*special, *features]:
            if counts[name] > 1:
                raise DataError(f"there are {counts[name]} columns {name!r}; rename all but one")
        return ColumnRoles(self.relevance, self.query, document, features)

    def _check_names(self) -> None:
        for role in ("relevance", "query", "document"):
            name = getattr(self, role)
            if not (isinstance(name, str) or (name is None and role != "relevance")):
                raise TypeError(f"{role} is a {type(name).__name__}; give the name of one column")
        if isinstance(self.features, str):
            raise TypeError(f"features is {self.features!r}; give a list of column names")

    def _get_hint(self, name: str) -> str:
        if name == self.relevance:
            return "; name the column of labels (`directranker convert --relevance`)"
        if name == self.query:
            return (
                "; name the column of query ids (`directranker convert --query`), or pass query=None if all "
                "rows belong to one query"
            )
        return ""


def resolve_feature_names(schema: pa.Schema, columns: ColumnRoles) -> tuple[str, ...]:
    """Return the names of the features; raise if a column's type does not fit its role. Reads no values."""
    for name, is_valid_type, problem in (
        (
            columns.relevance,
            _is_label_type,
            "relevance holds {}, not numbers; map the grades to numbers first",
        ),
        (columns.query, _is_id_type, "query ids are {}; use ints or strings"),
        (columns.document, _is_flat_type, "document ids are {}; use strings or ints"),
    ):
        if name in schema.names and not is_valid_type(schema.field(name).type):
            raise DataError(f"column {name!r}: {problem.format(schema.field(name).type)}")
    features = list(columns.features or ())
    for name in features:
        dtype = schema.field(name).type
        if pa.types.is_fixed_size_list(dtype) and len(features) == 1 and is_numeric_type(dtype.value_type):
            with name_column_in_errors(name):
                return _read_list_names(dtype.list_size, (schema.field(name).metadata or {}).get(b"names"))
        if not is_numeric_type(dtype):
            raise DataError(
                f"column {name!r} holds {dtype}, not numbers; encode it, leave it out, "
                "or name it as relevance, query or document"
            )
    return tuple(features)


@contextmanager
def name_column_in_errors(column: str) -> Iterator[None]:
    """Turn an error of converting a column into a `DataError` that names it."""
    try:
        yield
    except (DataError, pa.ArrowException, UnicodeDecodeError) as error:
        prefix = f"column {column!r}"
        message = format_in_one_line(error)
        raise DataError(message if prefix in message else f"{prefix}: {message}") from None


def format_in_one_line(error: BaseException) -> str:
    """Format an error's message without line breaks."""
    return " ".join(str(error).split()) or type(error).__name__


def is_numeric_type(dtype: pa.DataType) -> bool:
    """Whether an Arrow type can be cast to float."""
    is_plain = pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_boolean(dtype)
    return bool(is_plain or pa.types.is_decimal(dtype) or pa.types.is_null(dtype))


def _is_label_type(dtype: pa.DataType) -> bool:
    """Whether an Arrow type holds numbers, or strings that may be numbers."""
    if pa.types.is_dictionary(dtype):
        dtype = dtype.value_type
    return is_numeric_type(dtype) or _is_text_type(dtype)


def _is_id_type(dtype: pa.DataType) -> bool:
    if pa.types.is_dictionary(dtype):
        dtype = dtype.value_type
    is_number = pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_null(dtype)
    return bool(_is_text_type(dtype) or is_number)


def _is_text_type(dtype: pa.DataType) -> bool:
    is_string = pa.types.is_string(dtype) or pa.types.is_large_string(dtype)
    return bool(is_string or pa.types.is_string_view(dtype))


def _is_flat_type(dtype: pa.DataType) -> bool:
    return not pa.types.is_nested(dtype)


def _find_index_columns(schema: pa.Schema) -> set[str]:
    """Return the columns that pandas wrote for its index, such as the row numbers of a sorted frame."""
    try:
        metadata = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    except (ValueError, RecursionError):  # not written by pandas
        return set()
    names = metadata.get("index_columns") if isinstance(metadata, dict) else None
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()


def _read_list_names(size: int, stored: bytes | None) -> tuple[str, ...]:
    """Return the names of the features in a column of lists: from its metadata, else numbered."""
    if not 0 < size <= MAX_LIST_SIZE:
        raise DataError(f"holds lists of {size} numbers; give 1 to {MAX_LIST_SIZE:,} features")
    if stored is None:
        return tuple(f"feature_{number}" for number in range(1, size + 1))
    names = tuple(stored.decode().split("\n"))
    if len(names) != size or len(set(names)) != size:
        raise DataError(f"its metadata has {len(set(names))} different names for {size} features")
    return names
