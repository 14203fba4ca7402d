"""Reading LETOR text against a literal reader, and arbitrary bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from directranker.data.dataset import RankingDataset
from directranker.data.letor import builder as letor_builder
from directranker.data.letor import parse_letor
from directranker.errors import LetorError

from literal_letor import Lines, MalformedError, read


def parse(text: bytes, **options: bool) -> RankingDataset | int | None:
    """Parse a text; return the data set, or the line of the error."""
    try:
        return parse_letor(text, **options)  # type: ignore[arg-type]
    except LetorError as error:
        return error.line


def parse_literally(text: bytes, *, allow_non_finite: bool) -> Lines | int:
    """Parse a text by the literal reader; return its lines, or the line of the error."""
    try:
        return read(text, allow_non_finite=allow_non_finite)
    except MalformedError as error:
        return int(error.args[0])


def check_against_literal(text: bytes, *, allow_non_finite: bool = False) -> None:
    """Check that both readers give the same numbers, or name the same invalid line."""
    result = parse(text, allow_non_finite=allow_non_finite)
    lines = parse_literally(text, allow_non_finite=allow_non_finite)
    if isinstance(lines, int):
        assert result == lines
        return
    width = max((max(row, default=0) for row in lines.features), default=0)
    texts = [*lines.comments, *(query or b"" for query in lines.queries)]
    if width == 0 or not all(map(is_utf8, texts)):
        assert result is None  # an error of the file, not of a line
        return
    assert isinstance(result, RankingDataset)
    expected = np.zeros((len(lines.labels), width), dtype=np.float32)
    for row, features in enumerate(lines.features):
        for index, value in features.items():
            expected[row, index - 1] = value
    np.testing.assert_array_equal(result.to_source_order(result.features), expected)
    np.testing.assert_array_equal(np.signbit(result.to_source_order(result.features)), np.signbit(expected))
    np.testing.assert_array_equal(result.to_source_order(result.relevance), lines.labels)
    ids = [str(query).encode() for query in result.to_source_order(result.qid)]
    assert ids == [b"0" if query is None else query for query in lines.queries]
    if any(lines.comments):
        assert result.comment_texts is not None
        comments = result.to_source_order(np.array(result.comment_texts.to_pylist(), dtype=object))
        assert [comment.encode() for comment in comments] == lines.comments


def is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_blocks_and_threads_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    lines = []
    for row in range(300):
        indices = np.flatnonzero(rng.random(1 + row // 10) < 0.7) + 1
        values = " ".join(f"{index}:{rng.normal():.{rng.integers(1, 20)}g}" for index in indices)
        comment = f"#docid = d{row}" if row % 3 == 0 else ""
        lines.append(f"{row % 5} qid:{row // 7} {values} {comment}")
        lines.extend([""] * (row % 2))
    text = "\n".join(lines).encode()
    expected = parse_letor(text)
    monkeypatch.setattr(letor_builder, "PROBE_BYTES", 64)
    monkeypatch.setattr(letor_builder, "BLOCK_BYTES", 300)
    monkeypatch.setattr(letor_builder, "get_n_threads", lambda: 3)
    assert parse_letor(text).equals(expected)
    check_against_literal(text)
    broken = text.replace(b"qid:30 ", b"qid:30 x ", 1)
    with pytest.raises(LetorError) as error:
        parse_letor(broken)
    assert error.value.line == broken[: broken.index(b"x ")].count(b"\n") + 1


finite_numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.from_regex(r"[+-]?([0-9]{1,22}(\.[0-9]{0,22})?|\.[0-9]{1,22})([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.sampled_from(["nan", "-inf", "Infinity", "1e39", "x", "", ".", "1e", "--1", "0x1"]),
)
indices = st.one_of(st.integers(0, 6).map(str), st.sampled_from(["07", "x", "99999999999", "", "-1"]))
blanks = st.sampled_from([" ", "  ", "\t", " \t"])
features = st.tuples(blanks, indices, st.just(":"), finite_numbers).map("".join)
queries = st.one_of(st.sampled_from([" qid:1", " qid:2", "\tqid:b", " QID:1", " qid:", "", " qid:é"]))
structured_lines = st.tuples(
    st.sampled_from(["", " ", "\t"]),
    finite_numbers,
    queries,
    st.lists(features, max_size=4).map("".join),
    blanks | st.just(""),
    st.sampled_from(["", "#", "# a b", "#docid = X#y", "\r"]),
).map("".join)
structured_texts = st.lists(structured_lines | st.sampled_from(["", " ", "#c", "\r"]), max_size=5).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n"]).map(lambda end: end.join(lines).encode())
)


@settings(max_examples=500)
@given(structured_texts, st.booleans())
def test_structured_lines_match_the_literal_reader(text: bytes, allow_non_finite: bool) -> None:
    check_against_literal(text, allow_non_finite=allow_non_finite)


plain_values = st.from_regex(r"-?[0-9]{1,9}(\.[0-9]{1,9})?", fullmatch=True)
odd_tokens = st.text("0123456789.:- #\r\t\x00/;", max_size=12)


@settings(max_examples=500)
@given(
    st.lists(plain_values | odd_tokens, min_size=1, max_size=8), st.integers(0, 3), st.sampled_from([1, 2])
)
def test_plain_parser_matches_the_literal_reader(tokens: list[str], at: int, step: int) -> None:
    """Parse plain features with invalid or unusual tokens among them, after a first line."""
    values = [*("12345678" for _ in range(at)), *tokens, "-0", "0.1234567", "1"]
    features = " ".join(f"{1 + step * i}:{value}" for i, value in enumerate(values))
    text = f"0 qid:1 40:1\n1 qid:1 {features}\n2 qid:1 {features} #docid = a\n"
    check_against_literal(text.encode())


@pytest.mark.parametrize(
    "value",
    [
        "12345678",
        "123456789",
        "1.2345678",
        "0.1234567",
        "1234567.8",
        "00000001",
        "5.",
        ".5",
        "-",
        "--1",
        "-.5",
        "1.2.3",
        "1:2",
        "1..2",
        "1-2",
        "+1",
        "1e5",
        "",
        "1\x00",
        "1/",
        "1;",
        "-0",
        "-0.0",
        "99999999",
    ],
)
@pytest.mark.parametrize("index", ["3", "03", "5", "2", "00000003", "000000003", "3 ", " 3", "4097"])
def test_almost_plain_features_match_the_literal_reader(value: str, index: str) -> None:
    text = f"0 qid:1 4098:1\n0 qid:1 1:1 2:2 {index}:{value} 4098:7\n"
    check_against_literal(text.encode())


def test_lines_longer_than_a_block_and_more_columns_than_keys() -> None:
    rng = np.random.default_rng(0)
    for n_features in (4095, 4097, 9000):
        rows = [
            " ".join(f"{i + 1}:{rng.integers(10**6)}.{rng.integers(100)}" for i in range(n_features))
            for _ in range(3)
        ]
        check_against_literal("\n".join(f"1 qid:1 {row}" for row in ["1:5", *rows, "2:1.5"]).encode())


@settings(max_examples=400)
@given(st.binary(max_size=60) | st.text("0123456789.:+-eE#qidnaf \t\r\n", max_size=60).map(str.encode))
def test_any_bytes_are_read_or_raise_with_a_line_number(text: bytes) -> None:
    check_against_literal(text)


@settings(max_examples=500)
@given(finite_numbers)
def test_numbers_round_as_in_python(token: str) -> None:
    check_against_literal(f"1 qid:1 1:{token}\n".encode())


def test_kernel_stays_within_its_buffer(tmp_path: Path) -> None:
    """Run the kernel with bounds checks on texts that end anywhere."""
    script = """
import numpy as np
from directranker.data.letor import parse_letor
from directranker.errors import LetorError
rng = np.random.default_rng(0)
letters = np.frombuffer(b"0123456789.:+-eE#qidnaifty \\t\\r\\n", dtype=np.uint8)
good = b"1 qid:7 1:0.5 2:nan 3:-inf #docid = a\\r\\n"
for length in range(400):
    texts = [rng.choice(letters, length % 40).tobytes(), good * 2 + good[: length % len(good)]]
    for text in texts:
        try:
            parse_letor(text, allow_non_finite=True)
        except LetorError:
            pass
"""
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    environment = os.environ | checked | {"NUMBA_OPT": "0"}  # which compiles faster
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_words_are_loaded_within_the_text() -> None:
    """Parse texts that begin or end at a protected page."""
    script = """
import ctypes, mmap
import numpy as np
from directranker.data.letor import kernels as letor_kernels
from directranker.data.letor.numbers import Position
page = mmap.PAGESIZE
buffer = mmap.mmap(-1, 3 * page)
memory = np.frombuffer(buffer, dtype=np.uint8)
libc = ctypes.CDLL(None, use_errno=True)
for guard in (memory.ctypes.data, memory.ctypes.data + 2 * page):
    assert libc.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(page), 0) == 0
inside = memory[page : 2 * page]
rng = np.random.default_rng(0)
letters = np.frombuffer(b"0123456789.:- " * 3 + b"#q\\r\\t\\n", dtype=np.uint8)
good = b"1 qid:1 1:2.5 2:1 3:-0.125\\n"
for number in range(3000):
    text = rng.choice(letters, rng.integers(1, 200)).tobytes() if number % 2 else good * (number % 9)
    text = text[rng.integers(len(text) + 1) :] + b"\\n"
    for at in (0, page - len(text)):
        inside[at : at + len(text)] = np.frombuffer(text, dtype=np.uint8)
        block = inside[: len(text)] if at == 0 else inside
        rows = text.count(b"\\n")
        letor_kernels.parse_block(
            block, Position(at), Position(at + len(text)), np.empty((rows, 5), dtype=np.float32),
            np.empty(rows), np.empty((500, 5), dtype=np.int64), 0, 1, 100, 0.0, True,
        )
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
