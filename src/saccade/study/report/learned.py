"""What the page says of a learner, which promises nothing."""

import numpy as np

from saccade.learners.classifier import AttentiveLearner
from saccade.study.report.listing import MOST_LISTED, Cell, Listing, Section, listed

__all__ = ["learned_sections"]

# So many features of each of several classes are named.
FIRST = 8


def learned_sections(model: AttentiveLearner, name: str) -> list[Section]:
    n = model.coef_.shape[1]
    sections = [
        Section(
            "nothing",
            "It is not certified",
            [
                f"predict(X) reads all {n:,} features of every row. read(X) stops by the learner's own boundary, and "
                "nothing is promised of its labels.",
                f"To read fewer features under a promise, certify it on rows that it did not learn from: saccade "
                f"attend {name} DATA -o FAST",
            ],
            stands_out=True,
        ),
        _learned(model),
        _features(model) if model.classes_.size == 2 else _by_class(model),
    ]
    if model.encoding_ is not None:
        sections.append(Section("encoding", "How its columns are taken", str(model.encoding_).splitlines()))
    return sections


def _learned(model: AttentiveLearner) -> Section:
    record = model.training_
    audited = f"{100 * record.decision_error:.3g} %" if record.n_important else "not measured"
    rows: list[list[Cell]] = [
        ["passes", f"{model.n_iter_:,}"],
        ["examples", f"{record.n_examples:,}"],
        ["of them filtered", f"{record.n_filtered:,}"],
        ["of them skipped unread", f"{record.n_skipped:,}"],
        ["updates", f"{record.n_updates:,}"],
        ["features per example", f"{record.features_per_example:.1f}"],
        ["decision error", audited],
    ]
    return Section(
        "learned",
        "What it learned from",
        ["Filtered examples were clear before they were read to the end; a decision error filters one that was not."],
        Listing(["count", "so far"], rows),
    )


def _features(model: AttentiveLearner) -> Section:
    weights, names = model.coef_[0], _names(model)
    rows = ([f"{k + 1}. {names[j]}", f"{weights[j]:+.4g}"] for k, j in enumerate(_order(model, 0)[:MOST_LISTED]))
    first, second = model.classes_.tolist()
    text = [
        "This is the order in which read(X) asks for them. A weight is for the feature as it is in the data: positive "
        f"speaks for {second}, negative for {first}."
    ]
    return Section("asked", "Its features, in order", text, listed(["feature", "weight"], rows, weights.size))


def _by_class(model: AttentiveLearner) -> Section:
    names = _names(model)
    rows = (
        [str(label), ", ".join(names[j] for j in _order(model, k)[:FIRST])]
        for k, label in enumerate(model.classes_.tolist())
    )
    text = [f"Each class is told from all others by features in an order of its own; the first {FIRST} of each are:"]
    listing = listed(["class", "features"], rows, model.classes_.size, words=["features"])
    return Section("asked", "Its features, in order", text, listing)


def _names(model: AttentiveLearner) -> list[str]:
    names = model._feature_names
    return [f"feature {j}" for j in range(model.coef_.shape[1])] if names is None else [str(name) for name in names]


def _order(model: AttentiveLearner, k: int) -> list[int]:
    """Return the features as they are read; by their weights where all are, so that there is no order."""
    order = model.plans_[k].order
    heaviest = np.argsort(-np.abs(model.coef_[k]), kind="stable")
    return list(dict.fromkeys([*order.tolist(), *heaviest.tolist()]))
