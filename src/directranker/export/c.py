"""A ranker as one C99 function that depends only on the C library, for embedding.

`void NAME_score(const float *features, size_t n_documents, float *scores)` scores a contiguous array of
documents, each with all its features. It allocates nothing and is thread-safe.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import RankSVM
>>> model = RankSVM(transform="standard").fit(example_dataset())._describe()
>>> header, source = write_c(model, name="svm")
>>> print(header.splitlines()[-3])
void svm_score(const float *features, size_t n_documents, float *scores);
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from directranker.arrays import Features, Float32Array
from directranker.description.model import Model, Net, Trees
from directranker.errors import ExportError
from directranker.export.c_columns import write_columns
from directranker.export.c_layers import write_layers
from directranker.export.c_source import format_array
from directranker.export.categories import NUMBERS_INSTEAD, refuse_categories

__all__ = ["compile_and_score", "find_c_compiler", "write_c"]

FLAGS = ("-std=c99", "-O3", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


def write_c(model: Model, *, name: str) -> tuple[str, str]:
    """Write the texts of NAME.h and NAME.c."""
    refuse_categories(model, "the exported C code", NUMBERS_INSTEAD)
    guard = f"{name.upper()}_H"
    n_features = len(model.feature_names)
    header = (
        f"/* Made by directranker. Higher scores are better; a missing feature is NAN. */\n"
        f"#ifndef {guard}\n#define {guard}\n\n#include <stddef.h>\n\n"
        f"#define {name.upper()}_N_FEATURES {n_features}\n\n"
        "/* Scores a contiguous array of documents, each with all its features. */\n"
        f"void {name}_score(const float *features, size_t n_documents, float *scores);\n\n"
        f"#endif\n"
    )
    body = _write_net(model) if isinstance(model, Net) else _write_trees(model)
    source = (
        f'#include "{name}.h"\n\n#include <float.h>\n#include <math.h>\n\n{body}\n\n'
        f"void {name}_score(const float *features, size_t n_documents, float *scores) {{\n"
        f"    for (size_t row = 0; row < n_documents; row++) {{\n"
        f"        scores[row] = score_document(features + row * {n_features});\n    }}\n}}\n"
    )
    return header, source


def _write_net(model: Net) -> str:
    calls, total = write_layers(model)
    return "\n\n".join(
        [
            write_columns(model.columns),
            calls,
            "static float score_document(const float *features) {\n"
            f"    float columns[{max(1, model.n_columns)}] = {{0}};\n"
            f"    encode(features, columns);\n{total}\n}}",
        ]
    )


def _write_trees(model: Trees) -> str:
    n_nodes = np.cumsum([0, *(len(tree.feature) for tree in model.trees)])
    num_leaves = np.cumsum([0, *(len(tree.value) for tree in model.trees)])
    arrays = []
    for side in ("left", "right"):
        children = [
            np.where(child < 0, child - leaf, child + node)
            for child, node, leaf in zip(
                (getattr(tree, side) for tree in model.trees), n_nodes, num_leaves, strict=False
            )
        ]
        arrays.append(format_array("int", side, np.concatenate(children)))
    # A tree without nodes is a single leaf.
    roots = [
        node if len(tree.feature) else -leaf - 1
        for tree, node, leaf in zip(model.trees, n_nodes, num_leaves, strict=False)
    ]
    arrays += [
        format_array("int", "roots", roots),
        format_array("int", "split_feature", np.concatenate([tree.feature for tree in model.trees])),
        format_array("double", "threshold", np.concatenate([tree.threshold for tree in model.trees])),
        format_array(
            "unsigned char", "missing_left", np.concatenate([tree.missing_left for tree in model.trees])
        ),
        format_array("double", "leaf_value", np.concatenate([tree.value for tree in model.trees])),
    ]
    return (
        "\n".join(arrays)
        + f"""

static float score_document(const float *features) {{
    double total = 0.0;
    for (int tree = 0; tree < {len(model.trees)}; tree++) {{
        int node = roots[tree];
        while (node >= 0) {{
            const double x = features[split_feature[node]];
            const int goes_left = isnan(x) ? missing_left[node] : x <= threshold[node];
            node = goes_left ? left[node] : right[node];
        }}
        total += leaf_value[-node - 1];
    }}
    return (float)total;
}}"""
    )


def find_c_compiler() -> str | None:
    """Find a C compiler and return its path, or None."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


def compile_and_score(header: str, source: str, table: Features, *, name: str, compiler: str) -> Float32Array:
    """Compile the source, and score a table with it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, f"{name}.h").write_text(header, encoding="ascii")
        Path(folder, f"{name}.c").write_text(source, encoding="ascii")
        library = Path(folder, f"{name}.so")
        command = [compiler, *FLAGS, "-shared", "-fPIC", "-o", str(library), f"{name}.c", "-lm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise ExportError(f"{compiler} cannot compile the C source: {done.stderr.strip()[:500]}")
        score = getattr(ctypes.CDLL(str(library)), f"{name}_score")
        score.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        score.restype = None
        rows = np.ascontiguousarray(table, dtype=np.float32)
        scores = np.empty(len(rows), dtype=np.float32)
        score(rows.ctypes.data, len(rows), scores.ctypes.data)
        return scores
