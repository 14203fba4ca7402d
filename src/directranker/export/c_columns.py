"""The feature transform in C: one loop for each group of columns."""

from __future__ import annotations

import numpy as np

from directranker.description.columns import (
    Columns,
    Copies,
    Indicators,
    MissingIndicators,
    NormalQuantiles,
    Ramps,
    Rescaled,
)
from directranker.export.c_source import format_array, format_number
from directranker.export.normal_quantile import (
    MIDDLE,
    MIN_PROBABILITY,
    Interpolation,
    interpolate_middle,
    interpolate_tail,
)

__all__ = ["write_columns"]


def write_columns(groups: tuple[Columns, ...]) -> str:
    """Write the constants, and `encode`, which fills the columns that are not always 0."""
    constants: list[str] = []
    loops: list[str] = []
    for index, group in enumerate(groups):
        if isinstance(group, Indicators):
            of_group, loop = _write_indicators(group, index)
            constants += of_group
            loops.append(loop)
            continue
        of_group, body = _write_formula(group, index)
        constants += [
            format_array("int", f"feature_{index}", group.features),
            format_array("int", f"column_{index}", group.indices),
            *of_group,
        ]
        loops.append(
            f"    for (int i = 0; i < {len(group.features)}; i++) {{\n"
            f"        const double x = features[feature_{index}[i]];\n"
            f"{body}        columns[column_{index}[i]] = (float)y;\n    }}\n"
        )
    if not loops:  # all features are constant; compilers warn of unused parameters
        loops.append("    (void)features;\n    (void)columns;\n")
    if any(isinstance(group, NormalQuantiles) for group in groups):
        constants.append(_NORMAL_QUANTILE)
    return "\n".join(constants) + (
        "\n\nstatic void encode(const float *features, float *columns) {\n" + "".join(loops) + "}"
    )


def _write_indicators(group: Indicators, index: int) -> tuple[list[str], str]:
    """Write the column of each category, −1 where it has none, and the lines that set it."""
    columns = np.append(group.indices, -1)  # index −1: none
    constants = [format_array("int", f"column_of_code_{index}", columns[group.column_of_code])]
    feature, unseen = int(group.features[0]), int(columns[group.column_of_unseen])
    return constants, (
        f"    if (!isnan(features[{feature}])) {{\n"
        f"        const int code = (int)features[{feature}];\n"
        f"        const int column = code < 0 ? {unseen} : column_of_code_{index}[code];\n"
        "        if (column >= 0) columns[column] = 1.0f;\n    }\n"
    )


def _write_formula(group: Columns, index: int) -> tuple[list[str], str]:
    """Write the constants of a group, and the lines that compute y from x."""
    if isinstance(group, Copies):
        return [], "        const double y = x;\n"
    if isinstance(group, MissingIndicators):
        return [], "        const double y = isnan(x) ? 1.0 : 0.0;\n"
    if isinstance(group, Rescaled):
        constants = [
            format_array("double", f"centre_{index}", group.centre),
            format_array("double", f"width_{index}", group.width),
        ]
        value = "copysign(log1p(fabs(x)), x)" if group.logarithm else "x"
        return constants, (
            f"        double y = ({value} - centre_{index}[i]) / width_{index}[i];\n"
            "        y = y > FLT_MAX ? FLT_MAX : y < -FLT_MAX ? -FLT_MAX : y == y ? y : 0.0;\n"
        )
    if isinstance(group, Ramps):
        constants = [
            format_array("float", f"low_{index}", group.low),
            format_array("float", f"high_{index}", group.high),
        ]
        return constants, (
            f"        const double low = low_{index}[i], high = high_{index}[i];\n"
            "        const double y = !(x > low) ? 0.0 : x >= high ? 1.0 : (x - low) / (high - low);\n"
        )
    if isinstance(group, NormalQuantiles):
        return _write_normal_quantiles(group, index)
    raise AssertionError(group)


def _write_normal_quantiles(group: NormalQuantiles, index: int) -> tuple[list[str], str]:
    constants = [
        format_array("int", f"offset_{index}", group.offsets),
        *(
            format_array("double", f"{name}_{index}", getattr(group, name))
            for name in ("knots", "on", "after", "slope")
        ),
    ]
    return (
        constants,
        f"""        int knot = offset_{index}[i], beyond = offset_{index}[i + 1];
        double p = 0.0;
        while (beyond - knot > 1) {{
            const int half = knot + (beyond - knot) / 2;
            if (knots_{index}[half] <= x) knot = half; else beyond = half;
        }}
        if (x == knots_{index}[knot]) {{
            p = on_{index}[knot];
        }} else if (x > knots_{index}[knot]) {{
            p = after_{index}[knot];
            if (knot + 1 < offset_{index}[i + 1]) {{
                const double width = knots_{index}[knot + 1] - knots_{index}[knot];
                p += (x - knots_{index}[knot]) / width * slope_{index}[knot];
            }}
        }}
        const double y = isnan(x) ? 0.0 : normal_quantile(p) * {format_number(group.scale)};
""",
    )


def _write_polynomial(name: str, polynomial: Interpolation) -> str:
    return (
        format_array("double", f"{name}_coefficients", polynomial.coefficients[::-1])
        + f"""

static double {name}(double x) {{
    const double u = (x - {format_number(polynomial.centre)}) * {format_number(polynomial.factor)};
    double y = 0.0;
    for (int i = 0; i < {len(polynomial.coefficients)}; i++) y = y * u + {name}_coefficients[i];
    return y;
}}"""
    )


_NORMAL_QUANTILE = f"""{_write_polynomial("middle", interpolate_middle())}

{_write_polynomial("tail", interpolate_tail())}

static double normal_quantile(double p) {{
    const double lowest = {format_number(MIN_PROBABILITY)};
    p = fmin(fmax(p, lowest), 1.0 - lowest);
    const double q = p - 0.5;
    if (fabs(q) <= {format_number(MIDDLE)}) return q * middle(q * q);
    return copysign(tail(sqrt(-2.0 * log(q < 0.0 ? p : 1.0 - p))), q);
}}"""
