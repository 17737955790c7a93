"""Does a certificate follow from its own counts? For certificates that come from files."""

from collections.abc import Mapping

from saccade.promises.certificate import Certificate
from saccade.promises.evidence import Count, Difference, Evidence

__all__ = ["contradiction"]

# A level that was computed from counts is met by them exactly, up to rounding.
ROUNDING = 1e-6


def contradiction(certificate: Certificate, *, reads_all: bool) -> str | None:
    """Return what in a certificate does not follow from its own counts, or None.

    Where every part of every row is read nothing can disagree, and nothing needs to be counted.
    """
    rows, errors = certificate.n_calibration, certificate.disagreement * certificate.n_calibration
    levels = certificate.delta.values() if isinstance(certificate.delta, Mapping) else [certificate.delta]
    if not (all(0 < level <= 1 for level in levels) and 0 < certificate.confidence < 1 and rows >= 1):
        return "its level, its confidence or its number of rows is impossible"
    if not (
        0 < certificate.features_per_row <= certificate.n_features
        and 0 <= certificate.disagreement <= 1
        and abs(errors - round(errors)) < ROUNDING * rows
    ):
        return "it counts fractions of rows, no features, or more than there are"
    for part, whole in (
        (certificate.features_per_row, certificate.stored_per_row),
        (certificate.cost_per_row, certificate.cost_of_all),
    ):
        if part is not None and whole is not None and not 0 <= part <= whole * (1 + ROUNDING):
            return "its rows read or cost more than there is"
    if certificate.promise == "classes" and not certificate.by_class:
        return "it promises something of classes that it does not count"
    wrong = _sums(certificate, round(errors))
    if wrong is not None:
        return wrong
    if reads_all and round(errors) == 0:
        return None
    for evidence, level in _evidence(certificate, round(errors)):
        if level < 1 and not evidence.rejects(level, (1 - certificate.confidence) * (1 + ROUNDING)):
            return f"{evidence} does not bear out delta = {level:.3%}"
    return None


def _sums(certificate: Certificate, errors: int) -> str | None:
    """Return which sums of its counts are not the same."""
    rows, classes, stages = certificate.n_calibration, certificate.by_class, certificate.by_stage
    counts = [(record.full, record.here, record.lost, record.false) for record in classes]
    if any(min(count) < 0 or count[2] > count[0] or count[3] > count[1] for count in counts) or (
        classes and [sum(column) for column in zip(*counts, strict=True)] != [rows, rows, errors, errors]
    ):
        return "its classes do not add up to its rows"
    if any(min(stage.read, stage.rows, stage.disagreements) < 0 for stage in stages) or (
        stages and (sum(s.rows for s in stages), sum(s.disagreements for s in stages)) != (rows, errors)
    ):
        return "its stages do not add up to its rows"
    return None


def _evidence(certificate: Certificate, errors: int) -> list[tuple[Evidence, float]]:
    delta = certificate.delta
    if certificate.promise == "classes":
        levels = delta if isinstance(delta, Mapping) else {record.label: delta for record in certificate.by_class}
        return [
            (count, levels[record.label])
            for record in certificate.by_class
            for count in (Count(record.lost, record.full), Count(record.false, record.here))
        ]
    assert not isinstance(delta, Mapping)
    if certificate.promise == "accuracy":
        return [(Difference(certificate.worse or 0, certificate.better or 0, certificate.n_calibration), delta)]
    return [(Count(errors, certificate.n_calibration), delta)]
