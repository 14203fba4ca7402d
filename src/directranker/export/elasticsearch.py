"""A ranker for the learning-to-rank plugin of Elasticsearch and OpenSearch: `features.json`, `model.json`.

Linear rankers become `model/linear` with feature normalisers, trees `model/xgboost+json` or `model/ranklib`.
The plugin has no neural nets. Each feature reads the numeric field of its name; replace it by the query that
computes the feature. https://elasticsearch-learning-to-rank.readthedocs.io

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import LambdaMART
>>> trees = LambdaMART(n_estimators=3, random_state=0).fit(example_dataset())._describe()
>>> _, model = write_elasticsearch(trees, name="trees")
>>> model["model"]["model"]["type"]
'model/xgboost+json'
"""

from __future__ import annotations

import json
from typing import Any

from directranker.description.model import Model, Net, Tree, Trees
from directranker.errors import ExportError
from directranker.export.categories import refuse_categories
from directranker.export.engine_models import check_trees, round_float32, to_linear
from directranker.export.thresholds import next_above_float32, round_down_float32

__all__ = ["write_elasticsearch"]

ENGINE = "the Elasticsearch plugin"


def write_elasticsearch(
    model: Model, *, name: str, ranklib: bool = False
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Write the feature set and the model to upload; with `ranklib`, trees in RankLib's format."""
    refuse_categories(model, ENGINE)
    features = {
        "featureset": {
            "name": f"{name}_features",
            "features": [_write_feature(one) for one in model.feature_names],
        }
    }
    content: dict[str, Any]
    if isinstance(model, Trees):
        check_trees(model, ENGINE)
        content = (
            {"type": "model/ranklib", "definition": _write_ranklib(model)}
            if ranklib
            else {"type": "model/xgboost+json", "definition": json.dumps(_write_xgboost(model))}
        )
    else:
        content = _write_linear(model, ranklib)
    return features, {"model": {"name": name, "model": content}}


def _write_feature(name: str) -> dict[str, object]:
    factor = {"field": name, "missing": 0}
    template = {"function_score": {"query": {"match_all": {}}, "field_value_factor": factor}}
    return {"name": name, "params": [], "template_language": "mustache", "template": template}


def _write_linear(model: Net, ranklib: bool) -> dict[str, object]:
    if model.layers:
        raise ExportError(
            f"{ENGINE} has no neural nets; train a linear ranker or LambdaMART, or export to 'solr', "
            "'onnx' or 'c'"
        )
    if ranklib:
        raise ExportError("RankLib's format is for trees only; export this linear ranker to 'elasticsearch'")
    weights, norms = to_linear(model, ENGINE)
    names = model.feature_names
    content: dict[str, Any] = {
        "type": "model/linear",
        "definition": json.dumps(dict(zip(names, map(round_float32, weights), strict=True))),
    }
    if norms:
        content["feature_normalizers"] = {
            names[at]: {
                "standard": {"mean": round_float32(centre), "standard_deviation": round_float32(width)}
            }
            for at, (centre, width) in norms.items()
        }
    return content


def _write_xgboost(model: Trees) -> list[dict[str, Any]]:
    return [_write_xgboost_tree(tree, model.feature_names) for tree in model.trees]


def _write_xgboost_tree(tree: Tree, names: tuple[str, ...]) -> dict[str, Any]:
    n_nodes = len(tree.feature)
    leaves = [{"nodeid": n_nodes + at, "leaf": round_float32(value)} for at, value in enumerate(tree.value)]
    # The plugin tests x < condition, LightGBM x ≤ threshold.
    conditions = next_above_float32(tree.threshold)
    nodes: list[dict[str, Any]] = [
        {"nodeid": at, "split": names[feature], "split_condition": round_float32(conditions[at])}
        for at, feature in enumerate(tree.feature)
    ]
    for at, node in enumerate(nodes):
        yes, no = (
            nodes[child] if child >= 0 else leaves[-child - 1] for child in (tree.left[at], tree.right[at])
        )
        missing = yes if tree.missing_left[at] else no
        node.update(yes=yes["nodeid"], no=no["nodeid"], missing=missing["nodeid"], children=[yes, no])
    return nodes[0] if nodes else leaves[0]


def _write_ranklib(model: Trees) -> str:
    trees = "".join(
        f'<tree id="{number}" weight="1.0">\n<split>\n'
        f"{_write_ranklib_node(tree, 0 if len(tree.feature) else -1)}</split>\n</tree>\n"
        for number, tree in enumerate(model.trees, start=1)
    )
    return f"## LambdaMART\n## No. of trees = {len(model.trees)}\n\n<ensemble>\n{trees}</ensemble>\n"


def _write_ranklib_node(tree: Tree, node: int) -> str:
    if node < 0:
        return f"<output> {round_float32(tree.value[-node - 1])} </output>\n"
    threshold = round_float32(round_down_float32(tree.threshold)[node])
    sides = "".join(
        f'<split pos="{side}">\n{_write_ranklib_node(tree, int(child))}</split>\n'
        for side, child in (("left", tree.left[node]), ("right", tree.right[node]))
    )
    feature = int(tree.feature[node]) + 1
    return f"<feature> {feature} </feature>\n<threshold> {threshold} </threshold>\n{sides}"
