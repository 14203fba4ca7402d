"""The roles of a table's columns: label, query id, document id and features; and the types each allows.

>>> import pyarrow as pa
>>> schema = pa.table({"query": ["a"], "relevance": [1], "bm25": [2.5]}).schema
>>> ColumnRoles(query="query").resolve(schema).features
('bm25',)
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from directranker.data.categories import is_category_type
from directranker.data.column_kinds import name_dimensions
from directranker.data.dates import has_clock, is_date_type, is_time_type, name_date_features
from directranker.data.vectors import name_comparisons
from directranker.errors import DataError

__all__ = [
    "KEPT",
    "ColumnRoles",
    "Dates",
    "FeatureColumn",
    "format_in_one_line",
    "is_numeric_type",
    "is_vector_type",
    "name_column_in_errors",
    "resolve_feature_columns",
]

KEPT = b"kept"
"""The metadata `directranker` of a kept column's field."""
Dates: TypeAlias = Sequence[str] | Sequence[tuple[str, str | None]] | Mapping[str, str | None]
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
    dates: Dates = ()
    """Features that are dates: names, or a mapping to the column whose time the age is counted back from."""
    compare_vectors: Sequence[Sequence[str]] = ()
    """Pairs of vector columns to compare."""
    keep_vectors: bool = False
    """Whether vectors that are compared are features too."""
    or_default: bool = False
    """Whether the default names replace those that a table lacks, as in a table that `convert` wrote."""

    def __post_init__(self) -> None:
        for role in ("features", "categorical", "drop", "keep", "compare_vectors"):
            if isinstance(names := getattr(self, role), list | tuple):  # lists, as JSON has them
                plain = (tuple(name) if isinstance(name, list) else name for name in names)
                object.__setattr__(self, role, tuple(plain))
        if not isinstance(self.dates, str):
            object.__setattr__(self, "dates", _pair_dates(self.dates))

    @property
    def reference_dates(self) -> dict[str, str | None]:
        """The dates, and the column that the age of each is counted back from, if any."""
        return dict(self.dates)  # type: ignore[arg-type]  # pairs, after `__post_init__`

    @property
    def used(self) -> tuple[str, ...]:
        """The columns that are read, after `resolve`."""
        special = (self.relevance, self.query, self.document)
        references = self.reference_dates.values()
        names = (*special, *(self.features or ()), *references, *self.keep)
        return tuple(dict.fromkeys(name for name in names if name is not None))

    def resolve(self, schema: pa.Schema, *, need_labels: bool = True) -> ColumnRoles:
        """Check that the columns exist and fill in the names of the features."""
        self._check_names()
        known = set(schema.names)
        if self.or_default:
            return self._replace_missing(known).resolve(schema, need_labels=need_labels)
        document = None if self.document == "docid" and "docid" not in known else self.document
        special = [name for name in (self.relevance, self.query, document) if name is not None]
        references = [name for name in self.reference_dates.values() if name is not None]
        features, keep = self.features, tuple(dict.fromkeys((*self.keep, *_find_kept_columns(schema, self))))
        if features is None:
            unnamed = set(references) - set(self.reference_dates)
            excluded = {*special, *self.drop, *keep, *unnamed, *_find_index_columns(schema)}
            features = [name for name in schema.names if name not in excluded]
        required = special if need_labels else [name for name in special if name != self.relevance]
        named = [*required, *features, *references, *self._named_features(), *keep]
        missing = [name for name in dict.fromkeys(named) if name not in known]
        if missing:
            raise DataError(self._describe_missing_columns(missing, schema.names))
        if not features and self.features is None:
            raise DataError("there are no feature columns besides relevance, query and document")
        self._check_features(features)
        for name in keep:
            if name in {*special, *features}:
                raise DataError(f"{name!r} is in keep, but it is a feature or has another role; remove it")
        counts = Counter(schema.names)
        for name in [*special, *features, *references, *keep]:
            if counts[name] > 1:
                raise DataError(f"there are {counts[name]} columns {name!r}; rename all but one")
        return replace(self, document=document, features=tuple(features), keep=keep)

    def _replace_missing(self, known: set[str]) -> ColumnRoles:
        """Return the roles of a table that was written from a data set, where it has such columns."""
        found: dict[str, Any] = {}
        for role, default in (("relevance", "relevance"), ("query", "qid"), ("document", "docid")):
            name = getattr(self, role)
            found[role] = default if name not in known and default in known else name
        if found["document"] not in known:
            found["document"] = None
        missing = [name for name in self.features or () if name not in known]
        are_written = all(any(one.startswith(f"{name}[") for one in known) for name in missing)
        if missing and are_written:  # dates and vectors as the features that they became
            return ColumnRoles(**found, categorical=tuple(name for name in self.categorical if name in known))
        return replace(self, **found, or_default=False)

    @property
    def apply_to_tables_only(self) -> bool:
        """Whether a user named columns, which only a table has."""
        chosen = replace(self, keep=(), features=self.features or None)  # without features: labels only
        return not self.or_default and chosen != ColumnRoles()

    def keeping(self, name: str | None) -> ColumnRoles:
        """Return the same roles with one more kept column, if any."""
        return self if name is None or name in self.keep else replace(self, keep=(*self.keep, name))

    def _named_features(self) -> dict[str, str]:
        """The features that an option names, and what the option makes of them."""
        vectors = dict.fromkeys((name for pair in self.compare_vectors for name in pair), "a compared vector")
        return {
            **vectors,
            **dict.fromkeys(self.reference_dates, "a date"),
            **dict.fromkeys(self.categorical, "categorical"),
        }

    def _check_features(self, features: Sequence[str]) -> None:
        for name, kind in self._named_features().items():
            if name not in features:
                raise DataError(f"{name!r} is {kind} but not a feature; add it to the features")
        if clash := set(self.categorical) & set(self.reference_dates):
            raise DataError(f"{min(clash)!r} is both categorical and a date; choose one")

    def _check_names(self) -> None:
        for role in ("relevance", "query", "document"):
            name = getattr(self, role)
            if not (isinstance(name, str) or (name is None and role != "relevance")):
                raise TypeError(f"{role} is a {type(name).__name__}; give the name of one column")
        for role in ("features", "categorical", "drop", "keep", "dates", "compare_vectors"):
            if isinstance(getattr(self, role), str):
                raise TypeError(f"{role} is {getattr(self, role)!r}; give a list of column names")
        for pair in self.compare_vectors:
            if isinstance(pair, str) or len(pair) != 2:
                raise ValueError(f"compare_vectors has {pair!r}; give pairs of column names")

    def _describe_missing_columns(self, missing: Sequence[str], names: Sequence[str]) -> str:
        columns = "column" if len(missing) == 1 else "columns"
        problem = f"no {columns} {', '.join(map(repr, missing))}; the columns are {', '.join(names)}"
        if self.relevance in missing:
            problem += "; name the column of labels (`--relevance`)"
        if self.query in missing:
            problem += (
                "; name the column of query ids (`--query`), or pass query=None if all rows belong to one "
                "query"
            )
        return problem


def _pair_dates(dates: Dates) -> tuple[tuple[str, str | None], ...]:
    """Return (date, reference or None) of each date."""
    if isinstance(dates, Mapping):
        return tuple(dates.items())
    pairs = [(date, None) if isinstance(date, str) else tuple(date) for date in dates]
    return tuple(pairs)  # type: ignore[arg-type]  # pairs, as JSON has them


@dataclass(frozen=True)
class FeatureColumn:
    """A column of a table, and the features that it becomes."""

    name: str
    kind: Literal["number", "category", "vector", "date", "comparison"]
    feature_names: tuple[str, ...]
    other: str | None = None
    """The vector that it is compared with, or the column that the age of a date is counted back from."""


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
            resolved.append(_resolve_feature(schema.field(name), schema, columns, is_only=len(names) == 1))
        except DataError as error:
            problems.append(str(error))
    if problems:
        raise DataError("; ".join(problems))
    return _replace_compared(resolved, columns)


def _resolve_feature(
    field: pa.Field, schema: pa.Schema, columns: ColumnRoles, *, is_only: bool
) -> FeatureColumn:
    name, dtype = field.name, field.type
    if name in columns.reference_dates:
        return _resolve_date(field, schema, columns.reference_dates[name])
    if name in columns.categorical and _is_id_type(dtype, or_boolean=True):
        return FeatureColumn(name, "category", (name,))
    if name in columns.categorical:
        raise DataError(f"column {name!r} holds {dtype}; a category is a string or a whole number")
    if is_vector_type(dtype):
        with name_column_in_errors(name):
            return FeatureColumn(name, "vector", _name_vector_features(field, is_only=is_only))
    if is_numeric_type(dtype):
        return FeatureColumn(name, "number", (name,))
    if is_category_type(dtype) and _is_id_type(dtype, or_boolean=True):
        return FeatureColumn(name, "category", (name,))
    drop = f"drop=[{name!r}] (`--drop {name}`)"
    if is_time_type(dtype):
        raise DataError(
            f"column {name!r} holds {dtype}; make its age, hour and weekday features with dates=[{name!r}] "
            f"(`--dates {name}`), or leave it out with {drop}"
        )
    raise DataError(
        f"column {name!r} holds {dtype}, which is neither a number nor a category; convert it, or leave it "
        f"out with {drop}"
    )


def _resolve_date(field: pa.Field, schema: pa.Schema, reference: str | None) -> FeatureColumn:
    for checked in (field, *([] if reference is None else [schema.field(reference)])):
        if not is_date_type(checked.type):
            raise DataError(
                f"column {checked.name!r} holds {checked.type}; a date is a timestamp or ISO text"
            )
    names = name_date_features(field.name, clock=has_clock(field.type))
    return FeatureColumn(field.name, "date", names, reference)


def _replace_compared(resolved: Sequence[FeatureColumn], columns: ColumnRoles) -> tuple[FeatureColumn, ...]:
    """Add the comparisons of vectors; leave out the vectors themselves unless they are kept."""
    by_name = {column.name: column for column in resolved}
    comparisons = []
    for one, other in columns.compare_vectors:
        sizes = [len(by_name[name].feature_names) for name in (one, other) if by_name[name].kind == "vector"]
        if len(sizes) < 2:
            name = one if by_name[one].kind != "vector" else other
            raise DataError(f"column {name!r} is compared, but does not hold lists of numbers")
        if sizes[0] != sizes[1]:
            raise DataError(
                f"columns {one!r} and {other!r} have {sizes[0]} and {sizes[1]} dimensions; compare vectors "
                "of one length"
            )
        comparisons.append(FeatureColumn(one, "comparison", name_comparisons(one, other), other))
    compared = set() if columns.keep_vectors else {name for pair in columns.compare_vectors for name in pair}
    return (*(column for column in resolved if column.name not in compared), *comparisons)


def is_vector_type(dtype: pa.DataType) -> bool:
    """Whether an Arrow type holds lists of one size of numbers."""
    return bool(pa.types.is_fixed_size_list(dtype) and is_numeric_type(dtype.value_type))


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
