"""What a watch tells a monitoring system: families of samples, as Prometheus' text or through OpenTelemetry's meters.

Neither is imported: the text format is simple, and a meter is whatever has its methods.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from saccade.watching.tally import Tally

__all__ = ["Family", "families", "observe", "prometheus"]

STATES = ("holds", "open", "broken")


@dataclass(frozen=True)
class Family:
    """A metric: its name, what kind it is, what it says, and its samples by their labels."""

    name: str
    kind: str  # "counter" or "gauge"
    says: str
    samples: list[tuple[dict[str, str], float]] = field(default_factory=list)


class Observation(NamedTuple):
    """What OpenTelemetry's callbacks return; its SDK looks at these attributes alone."""

    value: float
    attributes: Mapping[str, str]
    context: Any = None


def families(tally: Tally) -> list[Family]:
    """Return all metrics; those of classes where the promise is by class."""
    audited, disagreements = tally.seen(0)
    lower, upper = tally.bounds(0)
    state = tally.state
    listed = [
        _single("saccade_rows_total", "counter", "Rows that were read.", tally.n_rows),
        _single("saccade_audited_rows_total", "counter", "Rows that were read early and in full.", audited),
        _single(
            "saccade_incomparable_rows_total",
            "counter",
            "Rows that were to be audited, and could not be read in full.",
            tally.n_incomparable,
        ),
        _single(
            "saccade_disagreements_total",
            "counter",
            "Audited rows whose early label is not the full model's.",
            disagreements,
        ),
        _single("saccade_parts_read_total", "counter", "Features or trees that were read.", tally.parts_read),
        _single(
            "saccade_audit_cost_total",
            "counter",
            "What audited rows that were fetched lazily cost beyond what would have decided them.",
            tally.audit_spent,
        ),
        _single(
            "saccade_disagreement_lower_bound_ratio",
            "gauge",
            "Anytime-valid lower confidence bound on the share of all rows with another label.",
            lower,
        ),
        _single(
            "saccade_disagreement_upper_bound_ratio",
            "gauge",
            "Anytime-valid upper confidence bound on the share of all rows with another label.",
            upper,
        ),
        Family("saccade_certificate_delta_ratio", "gauge", "The level that is promised.", _levels(tally)),
        Family(
            "saccade_promise_state",
            "gauge",
            "1 for the state that the promise is in, else 0.",
            [({"state": name}, float(name == state)) for name in STATES],
        ),
    ]
    return [*listed, *_by_class(tally)] if tally.labels else listed


def _single(name: str, kind: str, says: str, value: float) -> Family:
    return Family(name, kind, says, [({}, value)])


def _levels(tally: Tally) -> list[tuple[dict[str, str], float]]:
    if not tally.labels:
        return [({}, float(tally.counts.levels[0]))]
    return [({"class": str(record.label)}, record.delta) for record in tally.by_class]


def _by_class(tally: Tally) -> list[Family]:
    """Return counts and bounds by class and direction: lost by the full model's class, false by the early one."""
    rows = Family("saccade_class_audited_rows_total", "counter", "Audited rows of a class, by whose label.")
    errors = Family("saccade_class_disagreements_total", "counter", "Those of them with another label.")
    lower = Family("saccade_class_disagreement_lower_bound_ratio", "gauge", "Lower confidence bound on their share.")
    upper = Family("saccade_class_disagreement_upper_bound_ratio", "gauge", "Upper confidence bound on their share.")
    for record in tally.by_class:
        for direction, *values in (
            ("lost", record.full, record.lost, record.lost_lower, record.lost_upper),
            ("false", record.here, record.false, record.false_lower, record.false_upper),
        ):
            labels = {"class": str(record.label), "direction": direction}
            for family, value in zip((rows, errors, lower, upper), values, strict=True):
                family.samples.append((labels, value))
    return [rows, errors, lower, upper]


def prometheus(listed: Iterable[Family]) -> str:
    """Return families in Prometheus' text format, version 0.0.4."""
    lines = []
    for family in listed:
        lines += [f"# HELP {family.name} {family.says}", f"# TYPE {family.name} {family.kind}"]
        for labels, value in family.samples:
            named = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
            shown = repr(float(value)) if isinstance(value, float) else str(value)
            lines.append(f"{family.name}{{{named}}} {shown}" if named else f"{family.name} {shown}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def observe(meter: Any, current: Callable[[], list[Family]]) -> None:
    """Register all metrics with a meter, which asks for them when it collects; names lose the suffix ``_total``."""

    def register(family: Family) -> None:
        def observations(_: Any) -> list[Observation]:
            now = next(other for other in current() if other.name == family.name)
            return [Observation(value, labels) for labels, value in now.samples]

        create = meter.create_observable_counter if family.kind == "counter" else meter.create_observable_gauge
        create(family.name.removesuffix("_total"), callbacks=[observations], description=family.says)

    for family in current():
        register(family)
