"""Load some hundred hostile model folders; the benchmark of the same name loads ten thousand."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from hostile_models_benchmark import CHANGES, Watch, load_hostile, run


def test_hostile_folders_do_no_harm() -> None:
    outcomes, faults = run(40 * len(CHANGES), seed=1)
    assert faults == []
    assert outcomes.total() == 40 * len(CHANGES)
    damaged = {name for name in outcomes if "damage" in name}
    assert damaged == {f"{change.__name__}, damage: refused" for change in CHANGES}
    assert sum(outcomes[name] for name in damaged) == 20 * len(CHANGES)


def test_the_watch_records_writes(tmp_path: Path) -> None:
    watch = Watch()
    watch.active = True
    (tmp_path / "written").write_text("x")
    watch.active = False
    assert any("written" in seen for seen in watch.seen)
    assert load_hostile(tmp_path, np.zeros((1, 20), dtype=np.float32), watch) == "refused"
