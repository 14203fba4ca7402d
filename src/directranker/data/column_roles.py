"""The roles of a table's columns: label, query id, document id and features; and the types each allows.

>>> import pyarrow as pa
>>> schema = pa.table({"query": ["a"], "relevance": [1], "bm25": [2.5]}).schema
>>> ColumnRoles(query="query").resolve(schema).features
('bm25',)
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from directranker.data.categories import is_category_type
from directranker.data.column_kinds import name_dimensions
from directranker.errors import DataError

__all__ = [
    "KEPT",
    "ColumnRoles",
    "FeatureColumn",
    "format_in_one_line",
    "is_numeric_type",
    "name_column_in_errors",
    "resolve_feature_columns",
]

KEPT = b"kept"
"""The metadata `directranker` of a kept column's field."""
MAX_LIST_SIZE = 1_000_000  # features in a list; a file may claim any number


@dataclass(frozen=True)
class ColumnRoles:
    """The name of the column of each role; `features=None` means all other columns."""

    relevance: str = "relevance"
    query: str | None = "qid"
    document: str | None = "docid"
    features: Sequence[str] | None = None
    categorical: Sequence[str] = ()
    """Features whose numbers are ids of categories; text is categorical without being named."""
    drop: Sequence[str] = ()
    """Columns that are not features."""
    keep: Sequence[str] = ()
    """Columns that are not features but stay with the rows, such as a date to split by."""

    def resolve(self, schema: pa.Schema, *, need_labels: bool = True) -> ColumnRoles:
        """Check that the columns exist and fill in the names of the features."""
        self._check_names()
        known = set(schema.names)
        document = None if self.document == "docid" and "docid" not in known else self.document
        special = [name for name in (self.relevance, self.query, document) if name is not None]
        features, keep = self.features, tuple(dict.fromkeys((*self.keep, *_find_kept_columns(schema, self))))
        if features is None:
            excluded = {*special, *self.drop, *keep, *_find_index_columns(schema)}
            features = [name for name in schema.names if name not in excluded]
        for name in [*special, *features, *self.categorical, *keep]:
            if name not in known and (need_labels or name != self.relevance):
                raise DataError(self._describe_missing_column(name, schema.names))
        if not features:
            raise DataError("there are no feature columns besides relevance, query and document")
        self._check_roles(schema.names, special, features, keep)
        categorical, drop = tuple(self.categorical), tuple(self.drop)
        return ColumnRoles(self.relevance, self.query, document, tuple(features), categorical, drop, keep)

    def _check_roles(
        self, names: Sequence[str], special: Sequence[str], features: Sequence[str], keep: Sequence[str]
    ) -> None:
        for name in self.categorical:
            if name not in features:
                raise DataError(f"{name!r} is categorical but not a feature; add it to the features")
        for name in keep:
            if name in {*special, *features}:
                raise DataError(f"{name!r} is in keep, but it is a feature or has another role; remove it")
        counts = Counter(names)
        for name in [*special, *features, *keep]:
            if counts[name] > 1:
                raise DataError(f"there are {counts[name]} columns {name!r}; rename all but one")

    def _check_names(self) -> None:
        for role in ("relevance", "query", "document"):
            name = getattr(self, role)
            if not (isinstance(name, str) or (name is None and role != "relevance")):
                raise TypeError(f"{role} is a {type(name).__name__}; give the name of one column")
        for role in ("features", "categorical", "drop", "keep"):
            if isinstance(getattr(self, role), str):
                raise TypeError(f"{role} is {getattr(self, role)!r}; give a list of column names")

    def _describe_missing_column(self, name: str, names: Sequence[str]) -> str:
        problem = f"no column {name!r}; the columns are {', '.join(names)}"
        if name == self.relevance:
            return f"{problem}; name the column of labels (`--relevance`)"
        if name == self.query:
            return (
                f"{problem}; name the column of query ids (`--query`), or pass query=None if all rows belong "
                "to one query"
            )
        return problem


@dataclass(frozen=True)
class FeatureColumn:
    """A column of a table, and the features that it becomes."""

    name: str
    kind: Literal["number", "category", "vector"]
    feature_names: tuple[str, ...]


def resolve_feature_columns(schema: pa.Schema, columns: ColumnRoles) -> tuple[FeatureColumn, ...]:
    """Return the feature columns; raise if a column's type does not fit its role. Reads no values."""
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
    names, problems = list(columns.features or ()), []
    resolved: list[FeatureColumn] = []
    for name in names:
        try:
            resolved.append(_resolve_feature(schema.field(name), columns, is_only=len(names) == 1))
        except DataError as error:
            problems.append(str(error))
    if problems:
        raise DataError("; ".join(problems))
    return tuple(resolved)


def _resolve_feature(field: pa.Field, columns: ColumnRoles, *, is_only: bool) -> FeatureColumn:
    name, dtype = field.name, field.type
    if name in columns.categorical and _is_id_type(dtype, or_boolean=True):
        return FeatureColumn(name, "category", (name,))
    if name in columns.categorical:
        raise DataError(f"column {name!r} holds {dtype}; a category is a string or a whole number")
    if pa.types.is_fixed_size_list(dtype) and is_numeric_type(dtype.value_type):
        with name_column_in_errors(name):
            return FeatureColumn(name, "vector", _name_vector_features(field, is_only=is_only))
    if is_numeric_type(dtype):
        return FeatureColumn(name, "number", (name,))
    if is_category_type(dtype) and _is_id_type(dtype, or_boolean=True):
        return FeatureColumn(name, "category", (name,))
    raise DataError(
        f"column {name!r} holds {dtype}, which is neither a number nor a category; convert it, or leave it "
        f"out with drop=[{name!r}] (`--drop {name}`)"
    )


def _name_vector_features(field: pa.Field, *, is_only: bool) -> tuple[str, ...]:
    size = field.type.list_size
    if not 0 < size <= MAX_LIST_SIZE:
        raise DataError(f"holds lists of {size} numbers; give 1 to {MAX_LIST_SIZE:,} features")
    stored = (field.metadata or {}).get(b"names")
    if not is_only or (stored is None and field.name != "features"):
        return name_dimensions(field.name, size)
    return _read_list_names(size, stored)


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


def _is_id_type(dtype: pa.DataType, *, or_boolean: bool = False) -> bool:
    if pa.types.is_dictionary(dtype):
        dtype = dtype.value_type
    is_number = pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_null(dtype)
    return bool(_is_text_type(dtype) or is_number or (or_boolean and pa.types.is_boolean(dtype)))


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


def _find_kept_columns(schema: pa.Schema, columns: ColumnRoles) -> list[str]:
    """Return the columns that a data set with kept columns has written as such, and that are not named."""
    if columns.features is not None:
        return []
    named = {columns.relevance, columns.query, columns.document, *columns.categorical, *columns.drop}
    return [
        field.name
        for field in schema
        if (field.metadata or {}).get(b"directranker") == KEPT and field.name not in named
    ]


def _read_list_names(size: int, stored: bytes | None) -> tuple[str, ...]:
    """Return the names of the features in a column of lists: from its metadata, else numbered."""
    if stored is None:
        return tuple(f"feature_{number}" for number in range(1, size + 1))
    names = tuple(stored.decode().split("\n"))
    if len(names) != size or len(set(names)) != size:
        raise DataError(f"its metadata has {len(set(names))} different names for {size} features")
    return names
