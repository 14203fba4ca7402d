r"""Categories in C: the code of a string by binary search in its vocabulary, and numbers by code.

Values are written as arrays of bytes, never as string literals, so no value can become code.

>>> print(format_comment('brand */ int x; /*'))
brand \u002a\u002f int x\u003b \u002f\u002a
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from directranker.description.model import Model, Net
from directranker.errors import ExportError
from directranker.export.c_source import format_array, format_number

__all__ = ["format_comment", "write_document"]

PLAIN = frozenset(" _-.[]()")  # in comments, besides letters and digits


def write_document(model: Model) -> str:
    """Write `read_document`, which fills an array with numbers, codes of categories, and derived numbers."""
    numbers = [feature for feature in range(len(model.feature_names)) if feature not in model.categories]
    constants = [format_array("int", "number_feature", numbers)] if numbers else []
    lines = [f"    for (int i = 0; i < {len(numbers)}; i++) document[number_feature[i]] = features[i];"]
    if not numbers:
        lines = ["    (void)features;"]
    for at, (feature, values) in enumerate(sorted(model.categories.items())):
        constants.append(_write_vocabulary(values, at, model.feature_names[feature]))
        lines.append(
            f"    document[{feature}] = find_code(categories[{at}], text_{at}, start_{at}, {len(values)});"
        )
    for at, lookup in enumerate(model.derived if isinstance(model, Net) else ()):
        constants.append(format_array("float", f"derived_{at}", lookup.values))
        unseen, missing = (format_number(one, single=True) for one in (lookup.unseen, lookup.missing))
        code = f"document[{lookup.feature}]"
        lines.append(
            f"    document[{len(model.feature_names) + at}] = isnan({code}) ? {missing} : {code} < 0.0f ? "
            f"{unseen} : derived_{at}[(int){code}];"
        )
    return (
        "\n".join(constants) + f"\n\n{_FIND_CODE}\n\nstatic void read_document("
        "const float *features, const char *const *categories, float *document) {\n"
        + "\n".join(lines)
        + "\n}"
    )


def _write_vocabulary(values: tuple[str, ...], at: int, name: str) -> str:
    texts = [value.encode() + b"\0" for value in values]
    for value, text in zip(values, texts, strict=True):
        if b"\0" in text[:-1]:
            raise ExportError(
                f"category {value[:50]!r} of {name!r} has a NUL character, which ends a string in C; remove "
                "it from the data and train again, or export to 'onnx'"
            )
    starts = list(accumulate(map(len, texts), initial=0))[:-1]
    return "\n".join(
        [
            f"/* The categories of {format_comment(name)} in ascending order, each ended by 0. */",
            format_array("unsigned char", f"text_{at}", np.frombuffer(b"".join(texts), dtype=np.uint8)),
            format_array("unsigned int", f"start_{at}", starts),
        ]
    )


def format_comment(text: str) -> str:
    """Return a text for a C comment, without any character that could end it."""
    return "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in PLAIN) else f"\\u{ord(letter):04x}"
        for letter in text
    )


_FIND_CODE = """/* The index of a value in its vocabulary, -1 if it is not there, NAN if it is missing. */
static float find_code(const char *value, const unsigned char *text, const unsigned int *start, int n) {
    int low = 0, high = n - 1;
    if (value == NULL) return NAN;
    while (low <= high) {
        const int middle = low + (high - low) / 2;
        const int order = strcmp((const char *)text + start[middle], value);
        if (order == 0) return (float)middle;
        if (order < 0) low = middle + 1; else high = middle - 1;
    }
    return value[0] == '\\0' ? NAN : -1.0f;
}"""
