"""Reading LETOR text: notations, errors, files."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from directranker.data.letor import builder as letor_builder
from directranker.data.letor import parse_letor, read_letor
from directranker.errors import LetorError

from literal_letor import read


def test_dense_line_of_letor_4() -> None:
    data = parse_letor(
        b"2 qid:10032 1:0.056537 2:0.000000 3:1.5 #docid = GX029-35-5894638 inc = 1 prob = 0.5\n"
    )
    assert data.features.tolist() == [[np.float32(0.056537), 0.0, 1.5]]
    assert data.relevance.tolist() == [2.0]
    assert data.query_ids.tolist() == [10032]
    assert data.document_ids is not None
    assert data.document_ids.tolist() == ["GX029-35-5894638"]
    assert data.comment_texts is not None
    assert data.comment_texts.to_pylist() == ["docid = GX029-35-5894638 inc = 1 prob = 0.5"]


@pytest.mark.parametrize(
    ("token", "value"),
    [
        ("1e-5", 1e-5),
        (".5", 0.5),
        ("5.", 5.0),
        ("+3", 3.0),
        ("-0", -0.0),
        ("-0.25E+2", -25.0),
        ("0.1000000000000000000000000001", 0.1),
        ("123456789012345678901234567890", 1.2345679e29),
        ("16777217", 16777216.0),  # halfway between two float32: to even
        ("16777217.0000000000000000001", 16777216.0),  # its float64 is halfway again, as in Python
        ("1e-46", 0.0),
        ("7.1e-46", 1e-45),
        ("1e-400", 0.0),
        ("0e99999999999999", 0.0),
        ("3.4028235e38", 3.4028235e38),
    ],
)
def test_notations_of_a_value(token: str, value: float) -> None:
    read_value = parse_letor(f"0 qid:1 1:{token}\n".encode()).features[0, 0]
    assert read_value == np.float32(value)
    assert np.signbit(read_value) == np.signbit(value)


@pytest.mark.parametrize(
    "label", ["3", "-1", "2.5", "1e6", "123456789012", "0.1", "9007199254740993", "1e300"]
)
def test_labels_may_be_any_finite_number(label: str) -> None:
    assert parse_letor(f"{label} qid:1 1:1\n".encode()).relevance.tolist() == [float(label)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x qid:1 1:1", "t:1: the label 'x' is not a finite number"),
        ("nan qid:1 1:1", "t:1: the label 'nan' is not a finite number"),
        ("1e999 qid:1 1:1", "t:1: the label '1e999' is not a finite number"),
        ("0 qid:1 1:1\n0 qid: 1:1", "t:2: qid: without an id"),
        ("0 qid:1 1:1\n\n0 qid:1 9:1 7:1", "t:3: feature index 7 after 9; indices must increase"),
        ("0 qid:1 7:1 7:1", "t:1: feature index 7 after 7; indices must increase"),
        ("0 qid:1 0:1", "t:1: feature index 0; indices start at 1 unless zero_based is set"),
        ("0 qid:1 1:1 100001:2", "t:1: feature index 100001 is higher than the 100000 features allowed"),
        ("0 qid:1 99999999999999999999:2", "t:1: feature index 99999999999999999999 is higher than"),
        ("0 qid:1 1:abc", "t:1: the value of '1:abc' is not a number"),
        ("0 qid:1 1:", "t:1: the value of '1:' is not a number"),
        ("0 qid:1 1:1e", "t:1: the value of '1:1e' is not a number"),
        ("0 qid:1 1:.", "t:1: the value of '1:.' is not a number"),
        ("0 qid:1 1:.nan", "t:1: the value of '1:.nan' is not a number"),
        ("0 qid:1 1:1_0", "t:1: the value of '1:1_0' is not a number"),
        ("0 qid:1 1:0x10", "t:1: the value of '1:0x10' is not a number"),
        ("0 qid:1 1:nan", "t:1: the value of '1:nan' is not a finite float32"),
        ("0 qid:1 1:-inf", "t:1: the value of '1:-inf' is not a finite float32"),
        ("0 qid:1 1:1e39", "t:1: the value of '1:1e39' is not a finite float32"),
        ("0 qid:1 1:1e999", "t:1: the value of '1:1e999' is not a finite float32"),
        ("0 qid:1 1:1 abc", "t:1: 'abc' where index:value was expected"),
        ("0 qid:1 1:1 2", "t:1: '2' where index:value was expected"),
        ("0 qid:1 -1:1", "t:1: '-1:1' where index:value was expected"),
        ("0 qid:1 1:1 qid:1", "t:1: 'qid:1' among the features"),
        ("0 qid:1 1:1\n0 1:1\nx", "t:2: no qid, unlike the lines before"),
        ("1e999 qid:1 1:1\nx", "t:1: the label '1e999' is not"),
        ("0 1:1\n0 qid:1 1:1", "t:2: a qid, unlike the lines before"),
        ("0 qid:1 1:1\n0 1:1", "t:2: no qid, unlike the lines before"),
        ("0 qid:1 1:1\r0 qid:1 1:1", "t:1: the value of '1:1' is not a number"),
        ("0 qid:1 1:1\x00", "t:1: the value of '1:1\x00' is not a number"),
        ("0 qid:1 1:" + "a" * 100, "t:1: the value of '1:" + "a" * 38 + "…' is not a number"),
        ("", "t: contains no documents"),
        ("# nothing\n\n  \n", "t: contains no documents"),
        ("0 qid:1\n", "t: no line has a feature"),
    ],
)
def test_errors_name_the_line_and_the_problem(text: str, message: str) -> None:
    with pytest.raises(LetorError) as error:
        parse_letor(text.encode(), name="t")
    assert str(error.value).startswith(message)


def test_blank_lines_comments_line_ends_and_no_last_newline() -> None:
    text = b"\xef\xbb\xbf# head\r\n\r\n1 qid:1 1:1 # a \r\n   \n\t0\tqid:1\t1:2#b\n0 qid:1 1:3"
    data = parse_letor(text)
    assert data.features.ravel().tolist() == [1.0, 2.0, 3.0]
    assert data.comment_texts is not None
    assert data.comment_texts.to_pylist() == [" a ", "b", ""]


def test_missing_features_are_zero_or_nan() -> None:
    text = b"1 qid:1 2:5\n0 qid:1 1:1 4:2\n"
    assert parse_letor(text).features.tolist() == [[0, 5, 0, 0], [1, 0, 0, 2]]
    np.testing.assert_array_equal(
        parse_letor(text, missing="nan").features, [[np.nan, 5, np.nan, np.nan], [1, np.nan, np.nan, 2]]
    )


def test_zero_based_and_n_features() -> None:
    data = parse_letor(b"1 qid:1 0:5 2:1\n", zero_based=True, n_features=4)
    assert data.features.tolist() == [[5, 0, 1, 0]]
    assert data.feature_names[0] == "feature_0"
    with pytest.raises(LetorError, match="index 4 is higher"):
        parse_letor(b"1 qid:1 4:5\n", n_features=3)


def test_missing_query_ids_and_string_ids() -> None:
    assert parse_letor(b"1 1:5\n0 1:3\n").query_ids.tolist() == [0]
    assert parse_letor(b"1 qid:a-7 1:5\n0 qid:7 1:3\n").query_ids.tolist() == ["a-7", "7"]
    assert parse_letor(b"1 qid:007 1:5\n").query_ids.tolist() == ["007"]
    assert parse_letor("1 qid:größe 1:5\n".encode()).query_ids.tolist() == ["größe"]


def test_scattered_queries_are_grouped() -> None:
    data = parse_letor(b"0 qid:2 1:1 #a\n1 qid:1 1:2\n2 qid:2 1:3 #c\n3 qid:1 1:4 #d\n")
    assert data.query_ids.tolist() == [2, 1]
    assert data.features.ravel().tolist() == [1, 3, 2, 4]
    assert data.relevance.tolist() == [0, 2, 1, 3]
    assert data.comment_texts is not None
    assert data.comment_texts.to_pylist() == ["a", "c", "", "d"]
    assert data.to_source_order(data.features).ravel().tolist() == [1, 2, 3, 4]


def test_the_first_error_of_many_blocks_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [b"%d qid:%d 1:%d\n" % (row % 3, row // 9, row) for row in range(2000)]
    lines[1200] = lines[1700] = b"0 qid:x y\n"
    monkeypatch.setattr(letor_builder, "BLOCK_BYTES", 200)
    monkeypatch.setattr(letor_builder, "PROBE_BYTES", 64)
    monkeypatch.setattr(letor_builder, "get_n_threads", lambda: 4)
    path = tmp_path / "cut.txt.gz"
    path.write_bytes(gzip.compress(b"".join(lines))[:-20])  # also truncated
    for _ in range(20):
        with pytest.raises(LetorError, match=r"cut\.txt\.gz:1201: 'y' where index:value was expected"):
            read_letor(path)


def test_an_exception_in_the_progress_callback_stops_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(letor_builder, "BLOCK_BYTES", 200)
    monkeypatch.setattr(letor_builder, "PROBE_BYTES", 64)
    path = tmp_path / "a.txt"
    path.write_bytes(b"0 1:1\n" * 2000)
    seen: list[int] = []

    def progress(done: int, total: int) -> None:
        seen.append(done)
        if done > total / 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        read_letor(path, progress=progress)
    assert seen == sorted(seen)
    assert len(seen) < 0.8 * 12000 / 200


def test_gzip_is_read_and_truncated_gzip_raises(tmp_path: Path) -> None:
    text = b"".join(b"1 qid:%d 1:%d 2:0.25\n" % (row // 10, row) for row in range(50_000))
    path = tmp_path / "data.txt.gz"
    path.write_bytes(gzip.compress(text))
    assert read_letor(path).equals(parse_letor(text))
    path.write_bytes(gzip.compress(text)[:-2000])
    with pytest.raises(LetorError, match=r"data\.txt\.gz: damaged or truncated gzip file"):
        read_letor(path)


def test_several_files_and_their_progress(tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_bytes(b"1 qid:1 1:1\n0 qid:2 1:2\n")
    two.write_bytes(b"1 qid:2 1:3 2:4\n\nx\n")
    with pytest.raises(LetorError, match=r"two\.txt:3: the label 'x'"):
        read_letor([one, two])
    two.write_bytes(b"1 qid:2 1:3 2:4\n")
    reports: list[tuple[int, int]] = []
    data = read_letor([one, str(two)], progress=lambda done, total: reports.append((done, total)))
    assert data.features.tolist() == [[1, 0], [2, 0], [3, 4]]
    assert data.offsets.tolist() == [0, 1, 3]
    assert reports[-1] == (40, 40)


def test_missing_file_folder_and_unreadable_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_letor(tmp_path / "none.txt")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_letor(tmp_path)
    (tmp_path / "empty.txt").touch()
    with pytest.raises(LetorError, match=r"empty\.txt: contains no documents"):
        read_letor(tmp_path / "empty.txt")


def test_comments_that_are_not_utf8() -> None:
    with pytest.raises(LetorError, match="not UTF-8"):
        parse_letor(b"1 qid:1 1:1 #\xff\n")
    assert parse_letor(b"1 qid:1 1:1 #\xff\n", comments=False).comment_texts is None


def test_mq2008(real_data: Path) -> None:
    path = real_data / "MQ2008" / "Fold1" / "train.txt"
    data = read_letor(path)
    assert (data.n_documents, data.n_queries, data.n_features) == (9630, 471, 46)
    lines = read(path.read_bytes())
    assert data.relevance.tolist() == lines.labels
    assert [str(query).encode() for query in data.qid] == lines.queries
    expected = np.array([list(row.values()) for row in lines.features], dtype=np.float32)
    np.testing.assert_array_equal(data.features, expected)
