"""Parse 200,000 valid and malformed LETOR texts, with bounds checks on every index of the kernels.

Each text is parsed or raises a `LetorError`; the result, or the line of the error, must equal that of a
literal reader. The kernels run with numba's bounds checks, so an out-of-bounds read raises. Eight-byte loads
are not checked; a test covers them with texts between protected memory pages. The texts are structured lines
with random damage, and raw bytes.

    python benchmarks/parser_fuzzing_benchmark.py
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "data"))
from directranker import LetorError, RankingDataset, parse_letor

from literal_letor import MalformedError, read
from measuring import describe_machine

CHARACTERS = np.frombuffer(b"0123456789.:+-eE#qidnaifty \t\r\n\x00\xff", dtype=np.uint8)
TOKENS = (
    b"0|-1.5|qid:1|qid:x|qid:|nan|inf|-infinity|1:1|2:0.25|3:1e-7|9:-0|1e39|2:.5|3:5.|#docid = a b|#|:"
    b"| |\t|\n|\r\n|99999999999|1:123456789012345678901234567890|4:0.1000000000000000055511151231257827"
).split(b"|")
MAX_SECONDS = 1.0  # per text


def make_structured(rng: np.random.Generator) -> bytes:
    """Make lines, some of them with a changed, missing or added byte."""
    lines = []
    for _ in range(rng.integers(1, 5)):
        indices = np.flatnonzero(rng.random(6) < 0.5) + 1
        values = (
            f"{index}:{rng.normal() * 10.0 ** rng.integers(-40, 38):.{rng.integers(1, 20)}g}"
            for index in indices
        )
        comment = rng.choice(["", "#docid = x", " # y", "\r"])
        lines.append(f"{rng.integers(-1, 5)} qid:{rng.integers(3)} {' '.join(values)}{comment}")
    text = bytearray("\n".join(lines).encode())
    for _ in range(rng.integers(0, 3)):
        at = int(rng.integers(len(text)))
        kind = rng.integers(3)
        text[at : at + (kind != 2)] = b"" if kind == 1 else bytes([int(rng.choice(CHARACTERS))])
        if not text:
            break
    return bytes(text[: int(rng.integers(len(text) + 1))]) if rng.random() < 0.2 else bytes(text)


def make_plain(rng: np.random.Generator) -> bytes:
    """Make lines in the notation of the fast parser, most of them with a changed byte."""
    lines = []
    for _ in range(rng.integers(1, 4)):
        values = (f"{rng.normal() * 10.0 ** rng.integers(0, 6):.{rng.integers(0, 8)}f}" for _ in range(5))
        lines.append("1 qid:1 " + " ".join(f"{index + 1}:{value}" for index, value in enumerate(values)))
    text = bytearray("\n".join(lines).encode())
    if rng.random() < 0.8:
        text[int(rng.integers(len(text)))] = int(rng.choice(CHARACTERS))
    return bytes(text)


def make_tokens(rng: np.random.Generator) -> bytes:
    """Make tokens in random order."""
    return b" ".join(TOKENS[number] for number in rng.integers(len(TOKENS), size=rng.integers(0, 12)))


def make_raw(rng: np.random.Generator) -> bytes:
    """Make random bytes, of the grammar's characters or of all."""
    length = int(rng.integers(0, 50))
    return rng.choice(CHARACTERS, length).tobytes() if rng.random() < 0.7 else rng.bytes(length)


def parse(text: bytes) -> RankingDataset | int | None:
    """Parse a text; return the data, the line of the error, or None for an error of the whole text."""
    try:
        return parse_letor(text, allow_non_finite=True)
    except LetorError as error:
        return error.line


def check(text: bytes) -> bool:
    """Compare with the literal reader; return whether the text was accepted."""
    start = time.perf_counter()
    parsed = parse(text)
    if time.perf_counter() - start > MAX_SECONDS:
        raise AssertionError(f"took too long: {text!r}")
    try:
        lines = read(text, allow_non_finite=True)
    except MalformedError as error:
        if parsed != error.args[0]:
            raise AssertionError(f"{text!r}: {parsed}, literally line {error.args[0]}") from None
        return False
    if not isinstance(parsed, RankingDataset):
        # An error of the whole text: it is empty, has no features, or ids or comments are not UTF-8.
        strings = b"".join([*lines.comments, *(query or b"" for query in lines.queries)])
        is_utf8 = strings.decode(errors="ignore").encode() == strings
        if parsed is not None or (any(lines.features) and is_utf8):
            raise AssertionError(f"{text!r}: {parsed}, literally accepted")
        return False
    expected = np.zeros(parsed.features.shape, dtype=np.float32)
    for row, features in enumerate(lines.features):
        for index, value in features.items():
            expected[row, index - 1] = value
    np.testing.assert_array_equal(parsed.to_source_order(parsed.features), expected, err_msg=repr(text))
    np.testing.assert_array_equal(parsed.to_source_order(parsed.relevance), lines.labels, err_msg=repr(text))
    return True


def run_checked() -> int:
    """Run this script again with bounds checks and a temporary cache for the checked kernels."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": cache}
        return subprocess.run([sys.executable, *sys.argv], env=environment, check=False).returncode


def main() -> None:
    """Check all texts and print the progress."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--texts", type=int, default=200_000)
    arguments.add_argument("--seed", type=int, default=0)
    options = arguments.parse_args()
    if os.environ.get("NUMBA_BOUNDSCHECK") != "1":  # numba reads it at import
        sys.exit(run_checked())
    rng = np.random.default_rng(options.seed)
    parse(b"1 qid:1 1:1 #x\n0 qid:2 3:1\n0 qid:1 2:1")  # compile all kernels
    print(describe_machine("numba", "numpy"))
    accepted = 0
    makers = (make_structured, make_plain, make_tokens, make_raw)
    for number in range(options.texts):
        accepted += check(makers[number % len(makers)](rng))
        if number % 20_000 == 19_999:
            print(
                f"{number + 1:,} texts, {accepted:,} accepted, all equal to the literal reader",
                flush=True,
            )


if __name__ == "__main__":
    main()
