"""Registered rankers and grids: by name, from files, and errors for invalid ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from sklearn.model_selection import ParameterGrid

from directranker.experiments.grids import GRID_NAMES, get_named_grid, resolve_grid
from directranker.rankers.registry import load_registry, select_rankers


def test_rankers_are_selected_by_name_once_and_in_order() -> None:
    assert [one.name for one in select_rankers("RankSVM, AdaRank,RankSVM")] == ["RankSVM", "AdaRank"]
    assert [one.name for one in select_rankers("all")] == list(load_registry())
    assert [one.name for one in select_rankers(["ListNet"])] == ["ListNet"]
    with pytest.raises(ValueError, match="no ranker is named"):
        select_rankers(" , ")


def test_each_call_makes_a_new_ranker() -> None:
    for entry in load_registry().values():
        assert entry.make() is not entry.make()


@pytest.mark.parametrize("name", GRID_NAMES)
def test_rankers_accept_every_candidate_of_the_named_grids(name: str) -> None:
    assert set(get_named_grid(name)) == set(load_registry())
    for ranker, choices in get_named_grid(name).items():
        for candidate in ParameterGrid(choices):
            changed = load_registry()[ranker].make().set_params(**candidate).get_params()
            assert {key: changed[key] for key in candidate} == candidate
    resolve_grid(get_named_grid(name))  # built-in grids pass the checks of files


def test_the_papers_grid_is_the_published_one() -> None:
    grid: Any = get_named_grid("paper")["DirectRanker-paper"]
    assert grid["hidden_layers"] == [(10,), (50,), (100, 50, 5), (200, 100, 50, 25, 5)]
    assert (min(grid["weight_decay"]), max(grid["weight_decay"])) == (0, 0.1)
    assert grid["dropout"] == [0, 0.5]
    assert grid["early_stopping"] == [True, False]


def test_the_quick_grid_tries_at_most_three_candidates() -> None:
    assert max(len(ParameterGrid(choices)) for choices in get_named_grid("quick").values()) == 3


TOML = """
[DirectRanker]
hidden_layers = [[64], [128, 32]]
dropout = [0.3]

[[RankSVM]]
alpha = [0.1, 1.0]

[[RankSVM]]
cost = ["hinge"]
"""

YAML = """
DirectRanker:
  hidden_layers: [[64], [128, 32]]
  dropout: [0.3]
RankSVM:
  - alpha: [0.1, 1.0]
  - cost: [hinge]
"""


@pytest.mark.parametrize(("name", "text"), [("g.toml", TOML), ("g.yaml", YAML), ("g.yml", YAML)])
def test_files_say_the_same_in_both_languages(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    grid = resolve_grid(tmp_path / name)
    assert grid["DirectRanker"] == {"hidden_layers": [(64,), (128, 32)], "dropout": [0.3]}
    assert grid["RankSVM"] == [{"alpha": [0.1, 1.0]}, {"cost": ["hinge"]}]
    assert grid["LambdaMART"] == {}
    assert resolve_grid(str(tmp_path / name)) == grid


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("g.toml", "[RankSWM]\nalpha = [1]", "g.toml: ranker 'RankSWM' is unknown; did you mean 'RankSVM'?"),
        (
            "g.toml",
            "[LambdaMART]\nnum_leafs = [7]",
            "g.toml, LambdaMART: parameter 'num_leafs' is unknown; did you mean 'num_leaves'?",
        ),
        ("g.toml", "[RankSVM]\nrandom_state = [7]", "g.toml, RankSVM: parameter 'random_state' is unknown"),
        ("g.toml", "[Ensemble]\nranker__metric = ['map']", "parameter 'ranker__metric' is unknown"),
        ("g.toml", "[RankSVM]\nalpha = 0.5", "g.toml, RankSVM: alpha is 0.5; pass a list of values"),
        ("g.toml", "[RankSVM]\nalpha = []", "g.toml, RankSVM: alpha is []; pass a list of values"),
        ("g.toml", "RankSVM = 3", "g.toml, RankSVM: is 3; pass parameters"),
        ("g.toml", "[RankSVM\n", "g.toml: cannot be read: Expected ']'"),
        ("g.yaml", "RankSVM: [1", "g.yaml: cannot be read: while parsing a flow sequence"),
        ("g.yaml", "- 1", "g.yaml: has no ranker"),
        ("g.yaml", "", "g.yaml: has no ranker"),
        ("g.yaml", "\xff", "g.yaml: has no ranker"),
        ("g.yaml", "RankSVM: {alpha: &a [*a]}", "g.yaml: cannot be read: aliases are not supported"),
        ("g.yaml", "RankSVM: &a\n  alpha: *a", "g.yaml: cannot be read: aliases are not supported"),
        ("g.yaml", "RankSVM: {alpha: [!!int '']}", "g.yaml: cannot be read: tags are not supported"),
        ("g.yaml", "RankSVM: " + "[" * 5000, "g.yaml: cannot be read: values are nested too deeply"),
        ("g.yaml", "RankSVM: {alpha: [" + "9" * 5000 + "]}", "g.yaml: cannot be read: Exceeds the limit"),
        ("g.yaml", "RankSVM: {alpha: [2001-99-99]}", "g.yaml: cannot be read: month must be in 1..12"),
        ("g.yaml", "3: {alpha: [1]}", "g.yaml: ranker 3 is unknown"),
        ("g.toml", "a = " + "[" * 5000, "g.toml: values are nested too deeply"),
        ("g.toml", "#" * (1 << 20) + "\n", "g.toml: is larger than 1 MB"),
        ("g.csv", "", "is unknown; choose from 'quick', 'paper', or a .toml or .yaml file"),
    ],
)
def test_errors_name_file_ranker_and_parameter(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=re.escape(message)) as raised:
        resolve_grid(tmp_path / name)
    assert "\n" not in str(raised.value)


def test_a_missing_file_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.toml does not exist; pass 'quick'"):
        resolve_grid(tmp_path / "none.toml")
