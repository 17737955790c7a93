"""What is said of a certified model in a sentence or two."""

import math
from collections.abc import Mapping

from saccade.planning.boundaries import Full, as_boundary
from saccade.promises.certificate import Certificate, percent
from saccade.promises.evidence import rows_needed
from saccade.showing.outline import Certified, Outline

__all__ = ["headline", "milestones", "money", "plural", "price", "share", "shortened", "why_nothing"]

# Shares of rows, for which is said how much it took to decide them.
MILESTONES = {0.5: "half", 0.9: "90 %", 0.99: "99 %"}


def share(part: float) -> str:
    """Return a share with one decimal, rounded down: 100 % is all, and 0 % is none.

    >>> share(1.0), share(0.99999), share(0.0004), share(0.0)
    ('100 %', '99.9 %', '< 0.1 %', '0 %')
    """
    if part in (0, 1):
        return f"{100 * part:.0f} %"
    down = math.floor(1000 * part + 1e-6) / 10
    return f"{down:.1f} %" if down else "< 0.1 %"


def shortened(text: str, most: int) -> str:
    """Return a text of so many characters at most.

    >>> shortened("a long name", 7)
    'a long…'
    """
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def plural(count: int, noun: str) -> str:
    """Return a count with what is counted.

    >>> plural(1, "trees"), plural(1200, "stored values")
    ('1 tree', '1,200 stored values')
    """
    return f"{count:,} {noun[:-1] if count == 1 else noun}"


def price(paid: float | None) -> str:
    """Return what a step costs, in the user's own units.

    >>> price(2.5), price(0.0), price(1234567.0), price(None)
    ('2.5', '0', '1,234,567', 'paid')
    """
    return "paid" if paid is None else money(paid)


def money(amount: float, digits: int = 6) -> str:
    """Return an amount with so many digits: written out, unless it is very large or very small.

    >>> money(792213.5, 4), money(0.25), money(3e-7), money(1e16)
    ('792,214', '0.25', '3e-07', '1e+16')
    """
    return f"{amount:,.0f}" if 10 ** min(digits, 4) <= amount < 1e15 else f"{amount:.{digits}g}"


def milestones(outline: Outline) -> str:
    """Say how much it took to decide half of the rows, and nearly all: where that is known.

    Several shares that one look decided are said together.
    """
    reached: dict[int, str] = {}
    for least, words in MILESTONES.items():
        read = next((read for read, part in outline.curve if part >= least), None)
        if read is not None:
            reached[read] = words
    if not reached:
        return ""
    (first, most), *others = reached.items()
    begun = f"{most.capitalize()} of the rows were decided after {plural(first, outline.counted)}"
    return ", ".join([begun, *(f"{words} after {read:,}" for read, words in others)]) + "."


def headline(outline: Outline) -> str:
    """Say in one sentence how much is read of a row."""
    plan, certificate = outline.plan, outline.certificate
    if outline.decides_nothing and plan.n_to_the_end == 1:
        return f"It decides no row early: its only {plan.noun[:-1]} is read of every row."
    if outline.decides_nothing:
        return f"It decides no row early: all {plan.n_to_the_end:,} {plan.noun} of every row are read."
    if certificate.stored:
        return f"It reads {certificate.features_per_row:.1f} stored values per row on average."
    early = "" if outline.early is None else f"; {share(outline.early)} of rows are decided early"
    return f"It reads {certificate.features_per_row:.1f} of {plan.n_units:,} {plan.noun} per row on average{early}."


def why_nothing(model: Certified) -> list[str]:
    """Say why a model decides no row early, as far as its certificate tells, and what would help."""
    certificate = model.certificate_
    if isinstance(as_boundary(model.boundary, planned=True), Full):
        return ["Its boundary never stops. Choose another: boundary='conditional' is the default."]
    too_few = _too_few(certificate)
    if too_few:
        return [
            f"There were too few calibration rows: {'; '.join(too_few)}. Pass more rows, raise calibration_size, or "
            "promise less: a larger delta, one for each class, or promise='rows', which is weaker."
        ]
    if certificate.n_features == 1:
        return [f"It has one {certificate.noun[:-1]}, and of one nothing can be left unread. Use the model as it is."]
    return [
        "There were rows enough to certify on, but no plan that stops early kept the promise on them: the sum is clear "
        f"only once nearly all {certificate.noun} are read. A larger delta may help, and more rows to plan on. Else "
        "use the model as it is: reading it attentively saves nothing."
    ]


def _too_few(certificate: Certificate) -> list[str]:
    """Say of what there were fewer rows than a promise takes, even if no label differs."""
    confidence, delta = certificate.confidence, certificate.delta
    if certificate.promise != "classes" or not certificate.by_class:
        levels = delta.values() if isinstance(delta, Mapping) else [delta]
        needed = max(rows_needed(level, confidence) for level in levels)
        rows = certificate.n_calibration
        return [f"{rows:,}, where {needed:,} or more are needed"] if rows < needed else []
    lacking = []
    for record in certificate.by_class:
        level = delta[record.label] if isinstance(delta, Mapping) else delta
        needed = rows_needed(level, confidence)
        if record.full < needed:
            lacking.append(
                f"{record.full:,} of class {shortened(str(record.label), 40)}, where promising {percent(level)} takes "
                f"{needed:,} or more"
            )
    return lacking[:3] + ([f"and {len(lacking) - 3} more classes"] if len(lacking) > 3 else [])
