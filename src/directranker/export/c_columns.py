"""The transform in C: a loop for each group of columns."""

from __future__ import annotations

from directranker.description.columns import (
    Columns,
    Copies,
    MissingIndicators,
    NormalQuantiles,
    Ramps,
    Rescaled,
)
from directranker.export.c_source import array, number
from directranker.export.normal_quantile import MIDDLE, MIN_PROBABILITY, Interpolation, middle, tail

__all__ = ["columns_source"]


def columns_source(groups: tuple[Columns, ...]) -> str:
    """Constants, and `encode`, which fills the columns that are not always 0."""
    constants: list[str] = []
    loops: list[str] = []
    for at, group in enumerate(groups):
        own, body = _formula(group, at)
        constants += [
            array("int", f"feature_{at}", group.features),
            array("int", f"place_{at}", group.indices),
            *own,
        ]
        loops.append(
            f"    for (int i = 0; i < {len(group.features)}; i++) {{\n"
            f"        const double x = features[feature_{at}[i]];\n"
            f"{body}        columns[place_{at}[i]] = (float)y;\n    }}\n"
        )
    if not loops:  # all features are constant; compilers warn of what is not used
        loops.append("    (void)features;\n    (void)columns;\n")
    if any(isinstance(group, NormalQuantiles) for group in groups):
        constants.append(_NORMAL_QUANTILE)
    return "\n".join(constants) + (
        "\n\nstatic void encode(const float *features, float *columns) {\n" + "".join(loops) + "}"
    )


def _formula(group: Columns, at: int) -> tuple[list[str], str]:
    """Constants of a group, and the lines that make y of x."""
    if isinstance(group, Copies):
        return [], "        const double y = x;\n"
    if isinstance(group, MissingIndicators):
        return [], "        const double y = isnan(x) ? 1.0 : 0.0;\n"
    if isinstance(group, Rescaled):
        constants = [
            array("double", f"centre_{at}", group.centre),
            array("double", f"width_{at}", group.width),
        ]
        value = "copysign(log1p(fabs(x)), x)" if group.logarithm else "x"
        return constants, (
            f"        double y = ({value} - centre_{at}[i]) / width_{at}[i];\n"
            "        y = y > FLT_MAX ? FLT_MAX : y < -FLT_MAX ? -FLT_MAX : y == y ? y : 0.0;\n"
        )
    if isinstance(group, Ramps):
        constants = [array("float", f"low_{at}", group.low), array("float", f"high_{at}", group.high)]
        return constants, (
            f"        const double low = low_{at}[i], high = high_{at}[i];\n"
            "        const double y = !(x > low) ? 0.0 : x >= high ? 1.0 : (x - low) / (high - low);\n"
        )
    if isinstance(group, NormalQuantiles):
        return _normal_places(group, at)
    raise AssertionError(group)


def _normal_places(group: NormalQuantiles, at: int) -> tuple[list[str], str]:
    constants = [
        array("int", f"offset_{at}", group.offsets),
        *(
            array("double", f"{name}_{at}", getattr(group, name))
            for name in ("knots", "on", "after", "slope")
        ),
    ]
    return (
        constants,
        f"""        int knot = offset_{at}[i], beyond = offset_{at}[i + 1];
        double p = 0.0;
        while (beyond - knot > 1) {{
            const int half = knot + (beyond - knot) / 2;
            if (knots_{at}[half] <= x) knot = half; else beyond = half;
        }}
        if (x == knots_{at}[knot]) {{
            p = on_{at}[knot];
        }} else if (x > knots_{at}[knot]) {{
            p = after_{at}[knot];
            if (knot + 1 < offset_{at}[i + 1]) {{
                p += (x - knots_{at}[knot]) / (knots_{at}[knot + 1] - knots_{at}[knot]) * slope_{at}[knot];
            }}
        }}
        const double y = isnan(x) ? 0.0 : normal_quantile(p) * {number(group.scale)};
""",
    )


def _polynomial(name: str, polynomial: Interpolation) -> str:
    return (
        array("double", f"{name}_coefficients", polynomial.coefficients[::-1])
        + f"""

static double {name}(double x) {{
    const double u = (x - {number(polynomial.centre)}) * {number(polynomial.factor)};
    double y = 0.0;
    for (int i = 0; i < {len(polynomial.coefficients)}; i++) y = y * u + {name}_coefficients[i];
    return y;
}}"""
    )


_NORMAL_QUANTILE = f"""{_polynomial("middle", middle())}

{_polynomial("tail", tail())}

static double normal_quantile(double p) {{
    const double lowest = {number(MIN_PROBABILITY)};
    p = fmin(fmax(p, lowest), 1.0 - lowest);
    const double q = p - 0.5;
    if (fabs(q) <= {number(MIDDLE)}) return q * middle(q * q);
    return copysign(tail(sqrt(-2.0 * log(q < 0.0 ? p : 1.0 - p))), q);
}}"""
