"""Hostile Parquet files: every Arrow type, crafted metadata, damaged bytes."""

from __future__ import annotations

import base64
import decimal
import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROLES = ("qid", "docid", "relevance", "feature_1")
N_ROWS = 6


def arrow_columns() -> dict[str, pa.Array]:
    """Make a column of `N_ROWS` values of each Arrow type, by a readable name."""
    numbers = list(range(N_ROWS))
    of_numbers = [
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float16(), pa.float32(), pa.float64(), pa.decimal32(5, 1), pa.decimal64(12, 3)),
        *(pa.decimal128(38, 0), pa.decimal256(76, 10)),
    ]
    columns = {
        str(kind): pa.array(map(decimal.Decimal, numbers), kind) for kind in of_numbers if "dec" in str(kind)
    }
    columns |= {str(kind): pa.array(numbers, kind) for kind in of_numbers if str(kind) not in columns}
    times = [pa.date32(), pa.date64(), *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns"))]
    times += [pa.timestamp("us", "UTC"), pa.time32("s"), pa.time64("ns"), *map(pa.duration, ("s", "ns"))]
    columns |= {
        str(kind): pa.array(numbers, pa.int64() if kind.bit_width == 64 else pa.int32()).cast(kind)
        for kind in times
    }
    columns["month interval"] = pa.array([(1, 2, 3)] * N_ROWS, pa.month_day_nano_interval())
    columns |= _texts() | _nested(numbers) | _extensions(numbers)
    return columns


def _texts() -> dict[str, pa.Array]:
    letters = [bytes([0x61 + number]) for number in range(N_ROWS)]
    words = [letter.decode() for letter in letters]
    return {
        "null": pa.nulls(N_ROWS),
        "bool": pa.array([True, False] * 3),
        "string": pa.array(words),
        "large_string": pa.array(words, pa.large_string()),
        "string_view": pa.array(words, pa.string_view()),
        "digits": pa.array([str(number) for number in range(N_ROWS)]),
        "empty strings": pa.array([""] * N_ROWS),
        "binary": pa.array(letters),
        "binary beyond UTF-8": pa.array([b"\xff\xfe"] * N_ROWS),
        "large_binary": pa.array(letters, pa.large_binary()),
        "fixed_size_binary": pa.array(letters, pa.binary(1)),
        "binary_view": pa.array(letters, pa.binary_view()),
        "dictionary of strings": pa.array(words).dictionary_encode(),
        "dictionary of ints": pa.array([1, 2] * 3).dictionary_encode(),
        "dictionary of binary": pa.array(letters).dictionary_encode(),
        "nan": pa.array([np.nan] * N_ROWS),
        "inf": pa.array([np.inf] * N_ROWS),
        "huge": pa.array([1e308] * N_ROWS),
        "uint64 beyond int64": pa.array([2**64 - 1] * N_ROWS, pa.uint64()),
        "decimal beyond float64": pa.array([decimal.Decimal(10) ** 60] * N_ROWS, pa.decimal256(76, 0)),
        "fractions": pa.array([0.5] * N_ROWS),
    }


def _nested(numbers: list[int]) -> dict[str, pa.Array]:
    floats = pa.array(np.arange(N_ROWS * 2, dtype=np.float32))
    pairs = pa.FixedSizeListArray.from_arrays(floats, 2)
    return {
        "list": pa.array([[number] for number in numbers]),
        "ragged list": pa.array([[0] * number for number in numbers]),
        "large_list": pa.array([[number] for number in numbers], pa.large_list(pa.int64())),
        "list of strings": pa.array([["a"]] * N_ROWS),
        "fixed_size_list": pairs,
        "fixed_size_list of none": pa.array([[]] * N_ROWS, pa.list_(pa.float32(), 0)),
        "fixed_size_list of strings": pa.array([["a"]] * N_ROWS, pa.list_(pa.string(), 1)),
        "fixed_size_list of lists": pa.FixedSizeListArray.from_arrays(pairs, 1),
        "fixed_size_list of halves": pa.array([[1.0]] * N_ROWS, pa.list_(pa.float16(), 1)),
        "fixed_size_list of nulls": pa.array([[None]] * N_ROWS, pa.list_(pa.float32(), 1)),
        "struct": pa.array([{"a": number} for number in numbers]),
        "struct of nothing": pa.array([{}] * N_ROWS, pa.struct([])),
        "nested struct": pa.array([{"a": {"b": [number]}} for number in numbers]),
        "map": pa.array([[("a", number)] for number in numbers], pa.map_(pa.string(), pa.int64())),
        "union": pa.UnionArray.from_sparse(
            pa.array([0, 1] * 3, pa.int8()), [pa.array(numbers), pa.array(list("abcdef"))]
        ),
        "run_end_encoded": pa.RunEndEncodedArray.from_arrays(pa.array([2, 6]), pa.array([1, 2])),
        "list_view": pa.array([[number] for number in numbers], pa.list_view(pa.int64())),
    }


def _extensions(numbers: list[int]) -> dict[str, pa.Array]:
    def of(kind: Any, storage: pa.Array) -> pa.Array:
        return pa.ExtensionArray.from_storage(kind, storage.cast(kind.storage_type))

    tensor = pa.fixed_shape_tensor(pa.float32(), (2,))
    floats = pa.array(np.arange(N_ROWS * 2, dtype=np.float32))
    return {
        "uuid": of(pa.uuid(), pa.array([bytes(16)] * N_ROWS, pa.binary(16))),
        "json": of(pa.json_(), pa.array(["{}"] * N_ROWS)),
        "bool8": of(pa.bool8(), pa.array([0, 1] * 3, pa.int8())),
        "opaque": of(pa.opaque(pa.int64(), "a", "b"), pa.array(numbers)),
        "tensor": pa.ExtensionArray.from_storage(tensor, pa.FixedSizeListArray.from_arrays(floats, 2)),
    }


def with_column(role: str, column: pa.Array, *, with_null: bool = False) -> pa.Table:
    """Make a table that is valid except for one column."""
    if with_null:
        column = pa.chunked_array([column.slice(0, N_ROWS - 1), pa.nulls(1, column.type)])
    columns = {
        "qid": pa.array([1, 1, 1, 2, 2, 2]),
        "docid": pa.array(list("abcdef")),
        "relevance": pa.array([0, 1, 2, 0, 1, 2]),
        "feature_1": pa.array(np.arange(N_ROWS, dtype=np.float32)),
    }
    return pa.table(columns | {role: column})


def as_parquet(table: pa.Table) -> bytes | None:
    """Write a table as a Parquet file; None if Parquet does not support a type."""
    file = io.BytesIO()
    try:
        pq.write_table(table, file)
    except (pa.ArrowException, TypeError, OSError):
        return None
    return file.getvalue()


def crafted_tables() -> Iterator[tuple[str, pa.Table]]:
    """Yield tables with crafted metadata or names, each with a description."""
    plain = with_column("feature_1", pa.array(np.zeros(N_ROWS, np.float32)))
    deep = "[" * 5000 + "]" * 5000
    texts = ["", "[]", "1", "null", "{", deep, '{"index_columns": 3}', '{"index_columns": [[], {}, 1, null]}']
    texts += ['{"index_columns": "relevance"}', '{"index_columns": {"qid": 1}}', '{"a": ' + "9" * 5000 + "}"]
    for text in texts:
        yield f"pandas metadata {text[:40]}", plain.replace_schema_metadata({"pandas": text})
    for index in ("qid", "relevance", "feature_1"):
        metadata = {"pandas": json.dumps({"index_columns": [index]})}
        yield f"pandas index {index}", plain.replace_schema_metadata(metadata)
    yield "pandas metadata beyond UTF-8", plain.replace_schema_metadata({b"pandas": b"\xff{}"})
    yield "metadata beyond UTF-8", plain.replace_schema_metadata({b"\xff": b"\xfe"})
    yield "broken ARROW:schema", plain.replace_schema_metadata({"ARROW:schema": "AAAA"})
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(N_ROWS * 2, np.float32)), 2)
    for names in (b"", b"a", b"a\na", b"a\nb\nc", b"\xff\xfe\nb", b"\n", b"a\nqid", b"\x00\n\x01"):
        field = pa.field("features", lists.type, metadata={b"names": names})
        table = plain.drop_columns(["feature_1"]).append_column(field, lists)
        yield f"names {names!r}", table
    for title in (("qid", "docid", "relevance", "relevance"), ("qid", "qid", "relevance", "x")):
        yield f"columns {title!r}", pa.table(plain.columns, names=list(title))
    for titles in (
        ("qid", "docid", "relevance", ""),
        ("", "", "", ""),
        ("qid", "docid", "relevance", "a\nb\x00"),
    ):
        yield f"columns {titles!r}", pa.table(plain.columns, names=list(titles))
    yield "no rows", plain.slice(0, 0)
    yield "no columns", pa.table({})


def mutate(content: bytes, rng: np.random.Generator) -> bytes:
    """Change, remove or insert some bytes of a file, mostly within its footer."""
    data = bytearray(content)
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    kind = rng.integers(8)
    if kind == 0:
        return bytes(data[: int(rng.integers(len(data) + 1))])
    if kind == 1:
        data[-8:-4] = rng.bytes(4)
    elif kind == 2:
        at = int(rng.integers(len(data)))
        data[at : at + int(rng.integers(1, 50))] = rng.bytes(int(rng.integers(50)))
    elif kind == 3:
        return _mutate_schema(content, rng)
    else:
        first = 0 if kind == 4 else footer
        for at in rng.integers(first, len(data), size=int(rng.integers(1, 6))):
            data[int(at)] = (
                int(rng.integers(256)) if rng.random() < 0.5 else data[int(at)] ^ 1 << int(rng.integers(8))
            )
    return bytes(data)


def _mutate_schema(content: bytes, rng: np.random.Generator) -> bytes:
    """Change the Arrow schema in the footer and encode it again, as invalid Base64 is rejected early."""
    at = content.find(b"ARROW:schema")
    start = content.find(b"////", at)
    if at < 0 or start < 0:
        return content[::-1]
    stop = start
    while content[stop : stop + 1].isalnum() or content[stop : stop + 1] in (b"+", b"/", b"="):
        stop += 1
    stop = start + (stop - start) // 4 * 4
    schema = bytearray(base64.b64decode(content[start:stop]))
    for position in rng.integers(8, len(schema), size=int(rng.integers(1, 4))):
        schema[int(position)] = int(rng.integers(256))
    return content[:start] + base64.b64encode(bytes(schema)) + content[stop:]
