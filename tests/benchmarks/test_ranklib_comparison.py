"""The comparison with RankLib, with a fake `java` that reads and writes as RankLib does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from directranker import RankingDataset, example_dataset, write_letor

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from ranklib import RankLib, find_missing, parse_scores  # noqa: E402 - needs the path above

# Ranks by the first feature; writes lines by descending score, query by query, as RankLib does.
FAKE_JAVA = """#!{python}
import sys
from pathlib import Path
assert sys.argv[1] == "-jar" and Path(sys.argv[2]).is_file()
given = dict(zip(sys.argv[3::2], sys.argv[4::2]))
if "-train" in given:
    assert Path(given["-train"]).is_file() and Path(given["-validate"]).is_file()
    assert given["-metric2t"] == "NDCG@10" and given["-ranker"].isdigit()
    Path(given["-save"]).write_text("## ranker " + given["-ranker"])
    print("Model saved to: " + given["-save"])
    sys.exit(0)
if Path(given["-load"]).read_text() == "## ranker 3":
    sys.exit("Exception in thread main")
by_query = {{}}
for line in Path(given["-rank"]).read_text().splitlines():
    label, query, feature, *_ = line.split()
    by_query.setdefault(query.split(":")[1], []).append(float(feature.split(":")[1]))
with open(given["-score"], "w") as out:
    for query, features in by_query.items():
        for at in sorted(range(len(features)), key=lambda at: -features[at]):
            out.write(f"{{query}}\\t{{at}}\\t{{features[at]}}\\n")
"""


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(FAKE_JAVA.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "RankLib.jar").write_bytes(b"")
    monkeypatch.setenv("RANKLIB_JAR", str(tmp_path / "RankLib.jar"))
    return tmp_path


@pytest.fixture
def data() -> RankingDataset:
    return example_dataset().select(range(30))


def write_splits(data: RankingDataset, folder: Path) -> None:
    folder.mkdir(parents=True)
    for split in ("train", "vali", "test"):
        write_letor(data, folder / f"{split}.txt")


def test_scores_are_in_the_order_of_the_documents(java: Path, data: RankingDataset) -> None:
    write_splits(data, java / "fold")
    ranker = RankLib(6, str(java / "RankLib.jar"))
    ranker.train(java / "fold")
    np.testing.assert_allclose(ranker.score(java / "fold", data), data.features[:, 0], rtol=1e-6)


def test_a_failing_ranklib_raises(java: Path, data: RankingDataset) -> None:
    write_splits(data, java / "fold")
    ranker = RankLib(3, str(java / "RankLib.jar"))
    ranker.train(java / "fold")
    with pytest.raises(RuntimeError, match="ended with 1:\nException in thread main"):
        ranker.score(java / "fold", data)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\t0\t1.5", "are missing for 2 of 3 documents"),
        ("a\t0\t1.5\na\t2\t1", "line 2 .* an unknown document"),
        ("c\t0\t1.5", "line 1 .* an unknown document"),
        ("a 0 1.5", "expected query, index and score"),
    ],
)
def test_invalid_scores_raise(text: str, message: str) -> None:
    data = RankingDataset.from_arrays(np.zeros((3, 1)), [0, 1, 0], qid=["a", "a", "b"])
    with pytest.raises(ValueError, match=message):
        parse_scores(text, data)


def test_missing_requirements_are_described(tmp_path: Path) -> None:
    assert "java is not on the PATH" in str(find_missing({"PATH": str(tmp_path)}))
    (tmp_path / "java").write_text("")
    (tmp_path / "java").chmod(0o755)
    assert "RANKLIB_JAR is not set" in str(find_missing({"PATH": str(tmp_path)}))
    assert "which does not exist" in str(find_missing({"PATH": str(tmp_path), "RANKLIB_JAR": "nowhere.jar"}))


def test_the_whole_run(java: Path, data: RankingDataset) -> None:
    for number in range(1, 6):
        write_splits(data, java / "data" / "Small" / f"Fold{number}")
    command = [sys.executable, str(BENCHMARKS / "ranklib.py"), "--data", "Small", "--only", "LambdaMART"]
    command += ["--folds", "2"]
    environment = {**os.environ, "DIRECTRANKER_DATA": str(java / "data")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[-2:]]
    assert [row[:2] for row in rows] == [["RankLib", "LambdaMART"], ["directranker", "LambdaMART"]]
    assert all(0.3 < float(row[2]) <= 1 for row in rows)
    environment.pop("RANKLIB_JAR")
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("RankLib cannot run here: RANKLIB_JAR is not set")
