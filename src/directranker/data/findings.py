"""One finding about a data set: its count, an example and advice.

>>> make_findings("constant-features", ["'bm25'"], n=1, of=46)[0].message
"1 of 46 features (2 %) has the same value in every document, e.g. 'bm25'"
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

__all__ = ["MAX_EXAMPLES", "Finding", "Severity", "format_number", "format_percent", "make_findings"]

Severity: TypeAlias = Literal["note", "warning"]
MAX_EXAMPLES = 10


@dataclass(frozen=True)
class Finding:
    """One kind of problem: how often it occurs, an example, and what to do about it.

    >>> finding = Finding("nan-values", "note", 1, "1 of 4 values is NaN", "Fill it.", ("'f' of row 0",))
    >>> finding.to_dict()["examples"]
    ["'f' of row 0"]
    """

    kind: str
    """A stable name in kebab case, such as `"constant-features"`."""
    severity: Severity
    """A `"warning"` can make results wrong; a `"note"` is for information."""
    count: int
    message: str
    advice: str
    examples: tuple[str, ...] = ()
    """Up to `MAX_EXAMPLES`; the first is part of the message."""

    def to_dict(self) -> dict[str, object]:
        """Return values that JSON can represent."""
        return asdict(self) | {"examples": list(self.examples)}


# kind: (severity, noun, the message after "3 of 8 queries (38 %)", advice).
# {n:singular|plural} selects a form by the count.
_TEMPLATES: dict[str, tuple[Severity, str, str, str]] = {
    "queries-without-relevant": (
        "note",
        "query|queries",
        "{n:has|have} no relevant document (label {threshold} or more), e.g. query {example}",
        "Each metric convention handles them differently; `only_queries_with_relevant` removes them.",
    ),
    "only-relevant-queries": (
        "note",
        "query|queries",
        "{n:has|have} different labels, but all of {threshold} or more, e.g. query {example}",
        "Metrics of binary relevance, such as the paper's, score every order of them the same: "
        "use a graded metric (`ndcg@10:graded`), or binarise the labels at a higher threshold.",
    ),
    "one-class-queries": (
        "note",
        "query|queries",
        "{n:has|have} the same label for all documents, e.g. query {example}",
        "They have no pairs to train on, and metrics score every order of them the same.",
    ),
    "single-document-queries": (
        "note",
        "query|queries",
        "{n:has|have} only one document, e.g. query {example}",
        "They have only one order, so they do not distinguish rankers.",
    ),
    "empty-queries": (
        "note",
        "query|queries",
        "{n:has|have} no documents, e.g. query {example}",
        "Remove them; they only add a query to the mean.",
    ),
    "constant-features": (
        "note",
        "feature|features",
        "{n:has|have} the same value in every document, e.g. {example}",
        "They cannot order documents; remove them to save time.",
    ),
    "duplicate-features": (
        "note",
        "feature|features",
        "{n:repeats|repeat} another one value by value, e.g. {example}",
        "Keep one of each; the others add time and no information.",
    ),
    "missing-features": (
        "warning",
        "feature|features",
        "{n:has|have} no value at all (only NaN), e.g. {example}",
        "Remove them, or fix the step that produced the data.",
    ),
    "nan-values": (
        "note",
        "value|values",
        "{n:is|are} NaN, in {columns} {columns:feature|features}, e.g. {example}",
        "Use a ranker that accepts missing values, or impute them, for example with the feature's median.",
    ),
    "infinite-values": (
        "warning",
        "value|values",
        "{n:is|are} infinite, in {columns} {columns:feature|features}, e.g. {example}",
        "Look for a division by zero or a log of zero where the feature is computed; "
        "no network accepts them.",
    ),
    "contradicting-documents": (
        "warning",
        "document|documents",
        "have the features of another document of their query but not its label, e.g. {example}",
        "No ranker can distinguish them; look for lost features or duplicate documents.",
    ),
    "leaking-features": (
        "warning",
        "feature|features",
        "{n:orders|order} documents almost exactly as the label does, e.g. {example}",
        "Check whether they are computed from the label or known only after it; if so, remove them.",
    ),
    "identifying-columns": (
        "warning",
        "categorical column|categorical columns",
        "{n:has|have} another value in almost every document, e.g. {example}",
        "A ranker cannot use an id that does not occur again; remove them, or name one as the document id.",
    ),
    "ids-as-numbers": (
        "note",
        "feature|features",
        "{n:has|have} a different whole number in almost every document, e.g. {example}",
        "If they are ids, their size has no meaning: remove them, or name them as categorical.",
    ),
    "rare-categories": (
        "note",
        "categorical column|categorical columns",
        "{n:has|have} many values that occur in one query only, e.g. {example}",
        "Rankers can use only what such values share: values this rare are learned together.",
    ),
    "unseen-categories": (
        "note",
        "categorical column|categorical columns",
        "of {split} {n:has|have} values that {other} does not have, e.g. {example}",
        "A ranker treats all of them as one unknown value; check that they are spelled alike.",
    ),
    "shared-queries": (
        "warning",
        "query|queries",
        "of {split} {n:is|are} also in {other}, e.g. query {example}",
        "Keep each query in one split only, else the evaluation uses training data.",
    ),
    "differing-features": (
        "warning",
        "column|columns",
        "{n:differs|differ} between {split} and {other}, e.g. {example}",
        "Give all splits the same features in the same order.",
    ),
    "unseen-labels": (
        "note",
        "label|labels",
        "of {split} {n:does|do} not occur in {other}, e.g. label {example}",
        "Check that all splits use the same grades.",
    ),
}


class _Number(int):
    """An int whose format selects singular or plural: `{n:query|queries}`."""

    def __format__(self, forms: str) -> str:
        return forms.split("|")[self != 1] if forms else str(int(self))


def make_findings(kind: str, examples: Sequence[str], *, n: int, of: int, **details: object) -> list[Finding]:
    """Return the finding of a known kind as a list, which is empty where `n` is 0.

    >>> make_findings("empty-queries", [], n=0, of=3)
    []
    """
    if not n:
        return []
    severity, noun, predicate, advice = _TEMPLATES[kind]
    values = {name: _Number(value) if isinstance(value, int) else value for name, value in details.items()}
    predicate = predicate.format(n=_Number(n), example=examples[0], **values)
    message = f"{n} of {of} {_Number(of):{noun}} ({format_percent(n / of)}) {predicate}"
    return [Finding(kind, severity, n, message, advice, tuple(examples[:MAX_EXAMPLES]))]


def format_percent(fraction: float) -> str:
    """Format a fraction without decimals, never rounded to 0 % or 100 %.

    >>> format_percent(0.18), format_percent(0.001), format_percent(0.999)
    ('18 %', '<1 %', '>99 %')
    """
    if 0 < fraction < 0.01:
        return "<1 %"
    return ">99 %" if 0.99 < fraction < 1 else f"{fraction:.0%}".replace("%", " %")


def format_number(value: float) -> str:
    """Format a number, without `.0` where it is an integer.

    >>> format_number(2.0), format_number(0.5)
    ('2', '0.5')
    """
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(float(value))
