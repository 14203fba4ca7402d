"""A ranker for the learning-to-rank plugin of Elasticsearch and OpenSearch: `features.json`, `model.json`.

Linear rankers become `model/linear` with its feature normalisers; trees `model/xgboost+json`, or
`model/ranklib`. The plugin has no nets. A feature is the numeric field of its own name, to be replaced by the
query that computes it. https://elasticsearch-learning-to-rank.readthedocs.io

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import LambdaMART
>>> trees = LambdaMART(n_estimators=3, random_state=0).fit(example_dataset())._describe()
>>> _, model = elasticsearch_files(trees, name="trees")
>>> model["model"]["model"]["type"]
'model/xgboost+json'
"""

from __future__ import annotations

import json
from typing import Any

from directranker.description.model import Model, Net, Tree, Trees
from directranker.errors import ExportError
from directranker.export.engine_models import check_trees, linear_parts, plain
from directranker.export.thresholds import above_float32, at_most_float32

__all__ = ["elasticsearch_files"]

ENGINE = "the Elasticsearch plugin"


def elasticsearch_files(
    model: Model, *, name: str, ranklib: bool = False
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What to upload: the feature set, and the model; trees in RankLib's text where asked."""
    features = {
        "featureset": {"name": f"{name}_features", "features": [_feature(one) for one in model.feature_names]}
    }
    inner: dict[str, Any]
    if isinstance(model, Trees):
        check_trees(model, ENGINE)
        inner = (
            {"type": "model/ranklib", "definition": _ranklib(model)}
            if ranklib
            else {"type": "model/xgboost+json", "definition": json.dumps(_xgboost(model))}
        )
    else:
        inner = _linear(model, ranklib)
    return features, {"model": {"name": name, "model": inner}}


def _feature(name: str) -> dict[str, Any]:
    factor = {"field": name, "missing": 0}
    template = {"function_score": {"query": {"match_all": {}}, "field_value_factor": factor}}
    return {"name": name, "params": [], "template_language": "mustache", "template": template}


def _linear(model: Net, ranklib: bool) -> dict[str, Any]:
    if model.layers:
        raise ExportError(
            f"{ENGINE} has no nets; train a linear ranker or LambdaMART, or export to 'solr', 'onnx' or 'c'"
        )
    if ranklib:
        raise ExportError(f"RankLib's text is for trees; {ENGINE} takes a linear ranker by 'elasticsearch'")
    weights, norms = linear_parts(model, ENGINE)
    names = model.feature_names
    inner: dict[str, Any] = {
        "type": "model/linear",
        "definition": json.dumps(dict(zip(names, map(plain, weights), strict=True))),
    }
    if norms:
        inner["feature_normalizers"] = {
            names[at]: {"standard": {"mean": plain(centre), "standard_deviation": plain(width)}}
            for at, (centre, width) in norms.items()
        }
    return inner


def _xgboost(model: Trees) -> list[dict[str, Any]]:
    return [_xgboost_tree(tree, model.feature_names) for tree in model.trees]


def _xgboost_tree(tree: Tree, names: tuple[str, ...]) -> dict[str, Any]:
    n_nodes = len(tree.feature)
    leaves = [{"nodeid": n_nodes + at, "leaf": plain(value)} for at, value in enumerate(tree.value)]
    # The plugin asks x < condition where LightGBM asks x ≤ threshold.
    conditions = above_float32(tree.threshold)
    nodes: list[dict[str, Any]] = [
        {"nodeid": at, "split": names[feature], "split_condition": plain(conditions[at])}
        for at, feature in enumerate(tree.feature)
    ]
    for at, node in enumerate(nodes):
        yes, no = (
            nodes[child] if child >= 0 else leaves[-child - 1] for child in (tree.left[at], tree.right[at])
        )
        missing = yes if tree.missing_left[at] else no
        node.update(yes=yes["nodeid"], no=no["nodeid"], missing=missing["nodeid"], children=[yes, no])
    return nodes[0] if nodes else leaves[0]


def _ranklib(model: Trees) -> str:
    trees = "".join(
        f'<tree id="{number}" weight="1.0">\n<split>\n{_ranklib_node(tree, 0 if len(tree.feature) else -1)}'
        "</split>\n</tree>\n"
        for number, tree in enumerate(model.trees, start=1)
    )
    return f"## LambdaMART\n## No. of trees = {len(model.trees)}\n\n<ensemble>\n{trees}</ensemble>\n"


def _ranklib_node(tree: Tree, node: int) -> str:
    if node < 0:
        return f"<output> {plain(tree.value[-node - 1])} </output>\n"
    threshold = plain(at_most_float32(tree.threshold)[node])
    sides = "".join(
        f'<split pos="{side}">\n{_ranklib_node(tree, int(child))}</split>\n'
        for side, child in (("left", tree.left[node]), ("right", tree.right[node]))
    )
    feature = int(tree.feature[node]) + 1
    return f"<feature> {feature} </feature>\n<threshold> {threshold} </threshold>\n{sides}"
