"""200,000 broken and whole LETOR texts through the parser, with every index of the kernel checked.

Each text is read or refused with a `LetorError`; what is accepted and what is refused, and at which line,
equals a literal reader's answer. The kernels run with numba's bounds checks, so that a read outside the
buffer would be an error instead of luck; words of eight bytes are loaded without, and a test has their texts
between pages that nobody may read. Made of structured lines that are then damaged, and of raw bytes.

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
from measuring import machine

LETTERS = np.frombuffer(b"0123456789.:+-eE#qidnaifty \t\r\n\x00\xff", dtype=np.uint8)
WORDS = (
    b"0|-1.5|qid:1|qid:x|qid:|nan|inf|-infinity|1:1|2:0.25|3:1e-7|9:-0|1e39|2:.5|3:5.|#docid = a b|#|:"
    b"| |\t|\n|\r\n|99999999999|1:123456789012345678901234567890|4:0.1000000000000000055511151231257827"
).split(b"|")
SLOWEST = 1.0  # seconds that no small text may take


def structured(rng: np.random.Generator) -> bytes:
    """Whole lines, some of them then damaged by a changed, lost or added byte."""
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
        text[at : at + (kind != 2)] = b"" if kind == 1 else bytes([int(rng.choice(LETTERS))])
        if not text:
            break
    return bytes(text[: int(rng.integers(len(text) + 1))]) if rng.random() < 0.2 else bytes(text)


def plain(rng: np.random.Generator) -> bytes:
    """Lines in the notation that is read word by word, a byte of them then damaged."""
    lines = []
    for _ in range(rng.integers(1, 4)):
        values = (f"{rng.normal() * 10.0 ** rng.integers(0, 6):.{rng.integers(0, 8)}f}" for _ in range(5))
        lines.append("1 qid:1 " + " ".join(f"{index + 1}:{value}" for index, value in enumerate(values)))
    text = bytearray("\n".join(lines).encode())
    if rng.random() < 0.8:
        text[int(rng.integers(len(text)))] = int(rng.choice(LETTERS))
    return bytes(text)


def words(rng: np.random.Generator) -> bytes:
    """Tokens in any order."""
    return b" ".join(WORDS[number] for number in rng.integers(len(WORDS), size=rng.integers(0, 12)))


def raw(rng: np.random.Generator) -> bytes:
    """Bytes, of the grammar's own letters or of all."""
    length = int(rng.integers(0, 50))
    return rng.choice(LETTERS, length).tobytes() if rng.random() < 0.7 else rng.bytes(length)


def answer(text: bytes) -> RankingDataset | int | None:
    """What the parser says: the data, the line of the error, or None for an error of the whole text."""
    try:
        return parse_letor(text, allow_non_finite=True)
    except LetorError as error:
        return error.line


def check(text: bytes) -> bool:
    """Compare with the literal reader; whether the text was accepted."""
    start = time.perf_counter()
    found = answer(text)
    if time.perf_counter() - start > SLOWEST:
        raise AssertionError(f"took too long: {text!r}")
    try:
        lines = read(text, allow_non_finite=True)
    except MalformedError as error:
        if found != error.args[0]:
            raise AssertionError(f"{text!r}: {found}, literally line {error.args[0]}") from None
        return False
    if not isinstance(found, RankingDataset):
        # The text as a whole: nothing in it, no features, or ids and comments that are no text.
        texts = b"".join([*lines.comments, *(query or b"" for query in lines.queries)])
        is_text = texts.decode(errors="ignore").encode() == texts
        if found is not None or (any(lines.features) and is_text):
            raise AssertionError(f"{text!r}: {found}, literally accepted")
        return False
    expected = np.zeros(found.features.shape, dtype=np.float32)
    for row, features in enumerate(lines.features):
        for index, value in features.items():
            expected[row, index - 1] = value
    np.testing.assert_array_equal(found.to_source_order(found.features), expected, err_msg=repr(text))
    np.testing.assert_array_equal(found.to_source_order(found.relevance), lines.labels, err_msg=repr(text))
    return True


def run_checked() -> int:
    """Run this again with bounds checks, and a cache of its own that the checked kernels do not stay in."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": cache}
        return subprocess.run([sys.executable, *sys.argv], env=environment, check=False).returncode


def main() -> None:
    """Try the texts and count."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--texts", type=int, default=200_000)
    arguments.add_argument("--seed", type=int, default=0)
    options = arguments.parse_args()
    if os.environ.get("NUMBA_BOUNDSCHECK") != "1":  # numba reads it when it is imported
        sys.exit(run_checked())
    rng = np.random.default_rng(options.seed)
    answer(b"1 qid:1 1:1 #x\n0 qid:2 3:1\n0 qid:1 2:1")  # compiling all kernels takes its time
    print(machine("numba", "numpy"))
    accepted = 0
    makers = (structured, plain, words, raw)
    for number in range(options.texts):
        accepted += check(makers[number % len(makers)](rng))
        if number % 20_000 == 19_999:
            print(
                f"{number + 1:,} texts, {accepted:,} accepted, none differs from the literal reader",
                flush=True,
            )


if __name__ == "__main__":
    main()
