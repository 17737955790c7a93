"""What a watch reports to a monitoring system."""

from dataclasses import asdict
from typing import Any

from saccade.watching.tally import Tally

__all__ = ["metrics_of", "prometheus"]

HELP = {
    "rows_total": "Rows predicted.",
    "audited_rows_total": "Rows read early and in full.",
    "incomparable_rows_total": "Rows chosen for an audit that could not be read in full.",
    "disagreements_total": "Audited rows whose early label is not the full model's.",
    "parts_read_total": "Features or trees read.",
    "audit_cost_total": "Cost of the features that only audits asked for.",
    "disagreement_lower_bound_ratio": "Anytime-valid lower bound on the share of rows with another label.",
    "disagreement_upper_bound_ratio": "Anytime-valid upper bound on the share of rows with another label.",
    "certificate_delta_ratio": "Promised level.",
    "promise_state": "1 for the current state of the promise, else 0.",
    "class_audited_rows_total": "Audited rows of a class: by the full model (lost), or early (false).",
    "class_disagreements_total": "Those of them with another label.",
    "class_disagreement_lower_bound_ratio": "Lower bound on their share.",
    "class_disagreement_upper_bound_ratio": "Upper bound on their share.",
}


def metrics_of(tally: Tally) -> dict[str, Any]:
    """Return all counts and bounds by name."""
    (audited, disagreements), (lower, upper) = tally.seen(0), tally.bounds(0)
    return {
        "rows_total": tally.n_rows,
        "audited_rows_total": audited,
        "incomparable_rows_total": tally.n_incomparable,
        "disagreements_total": disagreements,
        "parts_read_total": tally.parts_read,
        "audit_cost_total": tally.audit_spent,
        "disagreement_lower_bound_ratio": lower,
        "disagreement_upper_bound_ratio": upper,
        "certificate_delta_ratio": float(tally.counts.levels[0]),
        "promise_state": tally.state,
        "classes": [asdict(record) for record in tally.by_class],
    }


def prometheus(metrics: dict[str, Any]) -> str:
    """Return metrics in Prometheus' text format, version 0.0.4."""
    samples: dict[str, list[tuple[str, float]]] = {name: [] for name in HELP}
    for name, value in metrics.items():
        if isinstance(value, int | float):
            samples[name].append(("", value))
    states = ("holds", "open", "broken")
    samples["promise_state"] = [(f'{{state="{name}"}}', int(name == metrics["promise_state"])) for name in states]
    for record in metrics["classes"]:
        label = str(record["label"]).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        samples["certificate_delta_ratio"].append((f'{{class="{label}"}}', record["delta"]))
        for direction, of in (("lost", "full"), ("false", "here")):
            named = f'{{class="{label}",direction="{direction}"}}'
            samples["class_audited_rows_total"].append((named, record[of]))
            samples["class_disagreements_total"].append((named, record[direction]))
            for end in ("lower", "upper"):
                samples[f"class_disagreement_{end}_bound_ratio"].append((named, record[f"{direction}_{end}"]))
    if metrics["classes"]:
        del samples["certificate_delta_ratio"][0]
    lines = []
    for name, values in samples.items():
        kind = "counter" if name.endswith("_total") else "gauge"
        if values:
            lines += [f"# HELP saccade_{name} {HELP[name]}", f"# TYPE saccade_{name} {kind}"]
            lines += [f"saccade_{name}{labels} {value!r}" for labels, value in values]
    return "\n".join(lines) + "\n"
