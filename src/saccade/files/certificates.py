"""Certificates in files: as JSON and back, every count checked against the others."""

from typing import Any

from saccade.exceptions import ModelFileError
from saccade.files.parameters import decode, encode
from saccade.promises.certificate import Certificate, ClassRecord, StageRecord
from saccade.promises.contradictions import contradiction
from saccade.promises.evidence import attainable
from saccade.reading.plan import Plan

__all__ = ["certificate_from", "certificate_parts"]

NUMBERS: dict[str, type[int] | type[float]] = {
    "confidence": float,
    "n_calibration": int,
    "disagreement": float,
    "features_per_row": float,
    "n_features": int,
}
MORE = {"promise", "by_class", "by_stage", "worse", "better", "stored_per_row", "cost_per_row"}
CLASS_RECORD = (int, int, int, int)
# Counts beyond this are no counts of rows.
LARGEST = 2**53


def certificate_parts(certificate: Certificate) -> dict[str, Any]:
    """Return what JSON can hold; labels stand in the order of the classes and are not repeated."""
    return {
        **{name: getattr(certificate, name) for name in NUMBERS},
        "promise": certificate.promise,
        "delta": encode("delta", certificate.delta),
        "by_class": [[r.full, r.here, r.lost, r.false] for r in certificate.by_class],
        "by_stage": [[stage.read, stage.rows, stage.disagreements] for stage in certificate.by_stage],
        "worse": certificate.worse,
        "better": certificate.better,
        "stored_per_row": certificate.stored_per_row,
        "cost_per_row": certificate.cost_per_row,
    }


def certificate_from(stated: dict[str, Any], labels: list[Any], plan: Plan, cost_of_all: float) -> Certificate:
    """Return the certificate of a plan."""
    if set(stated) != {"delta", *MORE, *NUMBERS} or stated["promise"] not in ("classes", "rows", "accuracy"):
        raise ModelFileError(f"its certificate is {str(stated)[:80]}")
    numbers = {name: _number(stated[name], kind) for name, kind in NUMBERS.items()}
    if not 0 < numbers["confidence"] < 1:
        raise ModelFileError(f"its certificate has the confidence {numbers['confidence']}")
    certificate = Certificate(
        promise=stated["promise"],
        delta=_level(stated, labels),
        by_class=tuple(
            _class_record(label, row, numbers["confidence"])
            for label, row in _matched(labels if stated["by_class"] else [], stated["by_class"])
        ),
        by_stage=tuple(StageRecord(*_row(row, (int, int, int))) for row in _list(stated["by_stage"])),
        worse=_number_or_none(stated["worse"], int),
        better=_number_or_none(stated["better"], int),
        noun=plan.noun,
        stored_per_row=_number_or_none(stated["stored_per_row"], float),
        cost_per_row=_number_or_none(stated["cost_per_row"], float),
        cost_of_all=None if stated["cost_per_row"] is None else cost_of_all,
        **numbers,
    )
    if certificate.n_features != plan.n_units:
        raise ModelFileError(
            f"its certificate is about {certificate.n_features} {plan.noun}, and it has {plan.n_units}"
        )
    wrong = contradiction(certificate, reads_all=plan.checkpoints.size == 0)
    if wrong is not None:
        raise ModelFileError(f"its certificate contradicts itself: {wrong}")
    return certificate


def _class_record(label: Any, row: Any, confidence: float) -> ClassRecord:
    """Return the counts of a class, and the level that follows from them."""
    full, here, lost, false = _row(row, CLASS_RECORD)
    return ClassRecord(label, full, here, lost, false, attainable(max(full, 0), confidence))


def _level(stated: dict[str, Any], labels: list[Any]) -> float | dict[Any, float]:
    delta = decode("delta", stated["delta"])
    if not isinstance(delta, dict):
        return float(_number(delta, float))
    if stated["promise"] != "classes" or set(delta) != set(labels):
        raise ModelFileError("its levels are not those of its classes")
    return {label: float(_number(level, float)) for label, level in delta.items()}


def _number(value: Any, kind: type[int] | type[float]) -> Any:
    right = isinstance(value, int | float) and not isinstance(value, bool) and (kind is float or type(value) is int)
    if not right or not abs(value) <= LARGEST:
        raise ModelFileError(f"its certificate has {str(value)[:40]!r} where a number should be")
    return kind(value)


def _number_or_none(value: Any, kind: type[int] | type[float]) -> Any:
    return None if value is None else _number(value, kind)


def _list(rows: Any) -> list[Any]:
    if not isinstance(rows, list):
        raise ModelFileError("its certificate has no list where one should be")
    return rows


def _matched(labels: list[Any], rows: Any) -> list[tuple[Any, Any]]:
    if len(_list(rows)) != len(labels):
        raise ModelFileError(f"its certificate counts {len(rows)} classes, and it has {len(labels)}")
    return list(zip(labels, rows, strict=True))


def _row(row: Any, kinds: tuple[type[int] | type[float], ...]) -> list[Any]:
    if len(_list(row)) != len(kinds):
        raise ModelFileError("its certificate has records of another length")
    return [_number(value, kind) for value, kind in zip(row, kinds, strict=True)]
