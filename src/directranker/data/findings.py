"""One finding about a data set: its count, an example and an advice, in plain words.

>>> describe("constant-features", ["'bm25'"], n=1, of=46)[0].message
"1 of 46 features (2 %) has the same value in every document, e.g. 'bm25'"
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

__all__ = ["MAX_EXAMPLES", "Finding", "Severity", "describe", "percent", "plain_number"]

Severity: TypeAlias = Literal["note", "warning"]
MAX_EXAMPLES = 10


@dataclass(frozen=True)
class Finding:
    """One kind of oddity: how often, where for example, and what to do about it.

    >>> finding = Finding("nan-values", "note", 1, "1 of 4 values is NaN", "Fill it.", ("'f' of row 0",))
    >>> finding.to_dict()["examples"]
    ["'f' of row 0"]
    """

    kind: str
    """A stable name in kebab case, such as `"constant-features"`."""
    severity: Severity
    """A warning can make results wrong; a note is good to know."""
    count: int
    message: str
    advice: str
    examples: tuple[str, ...] = ()
    """Up to ten; the first stands in the message."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self) | {"examples": list(self.examples)}


# What stands behind "3 of 8 queries (38 %)", and what to do; {n:one|many} picks a word by the count.
_WORDS: dict[str, tuple[Severity, str, str, str]] = {
    "queries-without-relevant": (
        "note",
        "query|queries",
        "{n:has|have} no relevant document (label {threshold} or more), e.g. query {example}",
        "Metrics count them by their convention; `only_queries_with_relevant` leaves them out.",
    ),
    "only-relevant-queries": (
        "note",
        "query|queries",
        "{n:has|have} different labels, but all of {threshold} or more, e.g. query {example}",
        "Every order of them is equally good to metrics that see only relevant or not, as the paper's: "
        "measure by grades (`ndcg@10:graded`), or make labels binary at a higher one.",
    ),
    "one-class-queries": (
        "note",
        "query|queries",
        "{n:has|have} the same label for all documents, e.g. query {example}",
        "They have no pairs to learn from, and every order of them is equally good.",
    ),
    "single-document-queries": (
        "note",
        "query|queries",
        "{n:has|have} only one document, e.g. query {example}",
        "There is nothing to rank in them; all rankers are equally good there.",
    ),
    "empty-queries": (
        "note",
        "query|queries",
        "{n:has|have} no documents, e.g. query {example}",
        "Leave them out; they add nothing but a query to the mean.",
    ),
    "constant-features": (
        "note",
        "feature|features",
        "{n:has|have} the same value in every document, e.g. {example}",
        "They cannot order documents; leave them out to save time.",
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
        "Leave them out, or look for the fault in how the data was made.",
    ),
    "nan-values": (
        "note",
        "value|values",
        "{n:is|are} NaN, in {columns} {columns:feature|features}, e.g. {example}",
        "Use a ranker that takes missing values, or fill them, for example with the feature's median.",
    ),
    "infinite-values": (
        "warning",
        "value|values",
        "{n:is|are} infinite, in {columns} {columns:feature|features}, e.g. {example}",
        "Look for a division by zero or a log of zero where the feature is made; no network can take them.",
    ),
    "contradicting-documents": (
        "warning",
        "document|documents",
        "have the features of another document of their query but not its label, e.g. {example}",
        "No ranker can tell them apart; look for lost features or for double documents.",
    ),
    "leaking-features": (
        "warning",
        "feature|features",
        "{n:orders|order} documents almost exactly as the label does, e.g. {example}",
        "Ask if they are made from the label or known only after it; if so leave them out.",
    ),
    "shared-queries": (
        "warning",
        "query|queries",
        "of {part} {n:stands|stand} in {other} too, e.g. query {example}",
        "Keep each query in one part only, else the evaluation sees what was trained on.",
    ),
    "differing-features": (
        "warning",
        "column|columns",
        "{n:differs|differ} between {part} and {other}, e.g. {example}",
        "Give all parts the same features in the same order.",
    ),
    "unseen-labels": (
        "note",
        "label|labels",
        "of {part} {n:does|do} not occur in {other}, e.g. label {example}",
        "Check that all parts use the same grades.",
    ),
}


class _Number(int):
    """An int that picks words in a format: `{n:query|queries}`."""

    def __format__(self, forms: str) -> str:
        return forms.split("|")[self != 1] if forms else str(int(self))


def describe(kind: str, examples: Sequence[str], *, n: int, of: int, **details: object) -> list[Finding]:
    """Put a finding of a known kind into words; none where `n` is 0.

    >>> describe("empty-queries", [], n=0, of=3)
    []
    """
    if not n:
        return []
    severity, noun, predicate, advice = _WORDS[kind]
    words = {name: _Number(value) if isinstance(value, int) else value for name, value in details.items()}
    predicate = predicate.format(n=_Number(n), example=examples[0], **words)
    message = f"{n} of {of} {_Number(of):{noun}} ({percent(n / of)}) {predicate}"
    return [Finding(kind, severity, n, message, advice, tuple(examples[:MAX_EXAMPLES]))]


def percent(share: float) -> str:
    """A share without decimals that is never rounded to none or all.

    >>> percent(0.18), percent(0.001), percent(0.999)
    ('18 %', '<1 %', '>99 %')
    """
    if 0 < share < 0.01:
        return "<1 %"
    return ">99 %" if 0.99 < share < 1 else f"{share:.0%}".replace("%", " %")


def plain_number(value: float) -> str:
    """A number as people write it.

    >>> plain_number(2.0), plain_number(0.5)
    ('2', '0.5')
    """
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(float(value))
