"""A table as its schema and batches of rows: what every tabular format is read as.

>>> stream = stream_table(pa.table({"qid": [1, 1, 2]}))
>>> stream.schema.names, [batch.num_rows for batch in stream.batches]
(['qid'], [3])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from directranker.data.column_roles import ColumnRoles, name_column_in_errors
from directranker.data.vectors import fix_list_sizes

__all__ = ["BLOCK_ROWS", "TableStream", "regroup_queries", "stream_table"]

BLOCK_ROWS = 16_384  # rows converted at a time; bounds the memory beyond the array itself


@dataclass(frozen=True)
class TableStream:
    """The schema of a table, and its rows in batches that are read once."""

    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]
    n_rows: int | None = None
    """The number of rows, where they are read one batch at a time and it is known before."""

    def with_fixed_lists(self, columns: ColumnRoles) -> TableStream:
        """Turn the features that are lists of numbers into lists of one size; raise where sizes differ."""
        schema, batches = fix_list_sizes(self.schema, self.batches, columns.features or ())
        return replace(self, schema=schema, batches=batches)


def stream_table(table: pa.Table) -> TableStream:
    """Return the batches of a table in memory."""
    return TableStream(table.schema, table.to_batches(max_chunksize=BLOCK_ROWS))


def regroup_queries(stream: TableStream, query: str | None) -> Iterator[pa.Table]:
    """Yield tables of complete queries; without a query column all rows are one table.

    >>> table = pa.table({"qid": [1, 1, 2, 2]})
    >>> stream = TableStream(table.schema, table.to_batches(max_chunksize=3))
    >>> [piece["qid"].to_pylist() for piece in regroup_queries(stream, "qid")]
    [[1, 1], [2, 2]]
    """
    held: list[pa.RecordBatch] = []  # the rows of a query that may continue in the next batch
    for batch in stream.batches:
        with name_column_in_errors(str(query)):
            last = 0 if query is None else _find_last_query(batch.column(query))
        is_new = held and query is not None and _starts_new_query(held[-1], batch, query)
        if held and (is_new or last):
            ready = held if is_new else [*held, batch.slice(0, last)]
            yield pa.Table.from_batches(ready, stream.schema)
            if is_new and last:
                yield pa.Table.from_batches([batch.slice(0, last)], stream.schema)
            held = [batch.slice(last)]
        elif last:
            yield pa.Table.from_batches([batch.slice(0, last)], stream.schema)
            held = [batch.slice(last)]
        elif batch.num_rows:
            held.append(batch)
    if held:
        yield pa.Table.from_batches(held, stream.schema)


def _find_last_query(ids: pa.Array) -> int:
    """Return the first row of the last run of equal ids."""
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to import

    if len(ids) < 2:
        return 0
    values = ids.dictionary_decode() if pa.types.is_dictionary(ids.type) else ids
    if pa.types.is_float16(values.type):
        values = values.cast(pa.float32())  # which Arrow can compare
    changes = pc.not_equal(values[1:], values[:-1]).fill_null(True)
    found = pc.indices_nonzero(changes)
    return int(found[-1].as_py()) + 1 if len(found) else 0


def _starts_new_query(before: pa.RecordBatch, after: pa.RecordBatch, query: str) -> bool:
    if not after.num_rows:
        return False
    return bool(before.column(query)[-1].as_py() != after.column(query)[0].as_py())
