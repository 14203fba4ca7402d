"""Dates and times as features: the age in days, the hour and the weekday.

The age is counted back from the newest document of the query, or from another column, such as the time of
the search; never from today, which would give the same document another score tomorrow.

>>> times = read_times(pa.array(["2024-05-01T12:00", "2024-05-03"]), "published")
>>> count_days(times, times.max()).tolist()
[1.5, 0.0]
>>> read_clock(pa.array(["2024-05-01T12:00", "2024-05-03"]), "published").tolist()  # hour, weekday
[[12.0, 2.0], [0.0, 4.0]]
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from directranker.arrays import FloatArray, IntArray
from directranker.errors import DataError

__all__ = [
    "Times",
    "count_days",
    "find_newest",
    "has_clock",
    "is_date_type",
    "is_time_type",
    "name_date_features",
    "read_clock",
    "read_times",
]

Times = NDArray[np.datetime64]  # microseconds, UTC; NaT where missing
DAY = np.timedelta64(1, "D") / np.timedelta64(1, "us")
ZONE = r"[T ].*(Z|[+-]\d\d(:?\d\d)?)$"


def is_time_type(dtype: pa.DataType) -> bool:
    """Whether an Arrow type is a date or a timestamp."""
    return bool(pa.types.is_timestamp(dtype) or pa.types.is_date(dtype))


def is_date_type(dtype: pa.DataType) -> bool:
    """Whether a column of an Arrow type can be named in `dates`: dates, timestamps and text."""
    if pa.types.is_dictionary(dtype):
        dtype = dtype.value_type
    is_text = pa.types.is_string(dtype) or pa.types.is_large_string(dtype) or pa.types.is_string_view(dtype)
    return bool(is_text or is_time_type(dtype))


def has_clock(dtype: pa.DataType) -> bool:
    """Whether an Arrow type has a time of day; text may have one."""
    return not pa.types.is_date(dtype)


def name_date_features(name: str, *, clock: bool) -> tuple[str, ...]:
    """Return the names of the features of a date.

    >>> name_date_features("published", clock=True)
    ('published[age]', 'published[hour]', 'published[weekday]')
    """
    return tuple(f"{name}[{part}]" for part in ("age", *(["hour"] if clock else []), "weekday"))


def read_times(values: pa.Array, name: str, first_row: int = 0) -> Times:
    """Return points in time as UTC; a time without a zone is taken as UTC."""
    times = _to_timestamps(values, name, first_row)
    utc: Times = times.cast(pa.timestamp("us")).to_numpy(zero_copy_only=False).astype("datetime64[us]")
    return utc


def read_clock(values: pa.Array, name: str, first_row: int = 0) -> FloatArray:
    """Return the hour (0 to 23) and the weekday (Monday is 0) in the column's own time zone."""
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to import

    times = _to_timestamps(values, name, first_row)
    parts = (pc.hour(times), pc.day_of_week(times))
    return np.column_stack([part.cast(pa.float64()).to_numpy(zero_copy_only=False) for part in parts])


def count_days(times: Times, reference: Times | np.datetime64) -> FloatArray:
    """Return the days from each time to the reference; NaN where one is missing."""
    elapsed = np.asarray(reference - times)
    days: FloatArray = np.where(np.isnat(elapsed), np.nan, elapsed.astype(np.int64) / DAY)
    return days


def find_newest(times: Times, offsets: IntArray) -> Times:
    """Return the newest time of each row's query; rows are sorted by query.

    >>> times = np.array(["2024-01-02", "NaT", "2024-01-01", "NaT"], "datetime64[us]")
    >>> find_newest(times, np.array([0, 3, 4])).astype("datetime64[D]").astype(str).tolist()
    ['2024-01-02', '2024-01-02', '2024-01-02', 'NaT']
    """
    if not len(times):
        return times
    newest = np.fmax.reduceat(times, offsets[:-1])  # NaT only where all are
    return np.repeat(newest, np.diff(offsets))


def _to_timestamps(values: pa.Array, name: str, first_row: int) -> pa.Array:
    """Convert to timestamps in microseconds; those with a time zone keep it."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_timestamp(values.type):
        return values.cast(pa.timestamp("us", values.type.tz), safe=values.type.unit != "ns")
    if pa.types.is_date(values.type):
        return values.cast(pa.timestamp("us"))
    return _parse_texts(values, name, first_row)


def _parse_texts(texts: pa.Array, name: str, first_row: int) -> pa.Array:
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to import

    texts = texts.cast(pa.large_string())  # Arrow cannot compare all kinds of text
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)
    has_zone = pc.match_substring_regex(texts, ZONE)
    missing = pa.scalar(None, texts.type)
    try:
        zoned: Any = pc.if_else(has_zone, texts, missing).cast(pa.timestamp("us", "UTC"))
        local: Any = pc.if_else(has_zone, missing, texts).cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        row = next(row for row, text in enumerate(texts) if not _is_iso(text))
        raise DataError(
            f"column {name!r} holds {texts[row].as_py()!r} in row {first_row + row}, not a date; give ISO "
            "dates such as 2024-05-31 or 2024-05-31T12:30:00"
        ) from None
    return pc.coalesce(zoned.cast(pa.timestamp("us")), local)


def _is_iso(text: pa.Scalar) -> bool:
    for target in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            pa.array([text.as_py()], text.type).cast(target)
        except pa.ArrowInvalid:
            continue
        return True
    return False
