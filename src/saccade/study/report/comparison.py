"""Plots of the three algorithms side by side."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from saccade.study.experiments.claims import ORDER_NAMES, versus
from saccade.study.experiments.comparison import Run
from saccade.study.experiments.digits import PAPER_PAIRS
from saccade.study.experiments.reproduction import Reproduction
from saccade.study.experiments.summaries import pick, summarise
from saccade.study.report.exhibits import COLORS, Exhibit, Section, Table, draw

DELTA = 10  # per cent, in both modes


class Panel(NamedTuple):
    """A figure of every algorithm."""

    title: str
    unit: str
    says: str
    spec: str
    value: Callable[[Run], float]


PANELS = [
    Panel(
        "Features read in learning",
        "features per example (of 784)",
        "How many pixels of a training image were read on average: the fewer, the cheaper.",
        ".0f",
        lambda run: run.features_learned,
    ),
    Panel(
        "Error of the learned weights, read in full",
        "test error (%)",
        "How many of 100 test digits got the wrong label when every pixel was read.",
        ".2f",
        lambda run: run.score.error_full,
    ),
    Panel(
        "Error when prediction stops early",
        "test error (%)",
        "How many of 100 test digits got the wrong label when reading stopped as soon as the label seemed clear.",
        ".2f",
        lambda run: run.score.error_stopped,
    ),
    Panel(
        "Features read in prediction",
        "features per image (of 784)",
        "How many pixels of a test digit were read before its label seemed clear.",
        ".0f",
        lambda run: run.score.features_predicted,
    ),
]
AUDITED = Panel(
    "Important examples that were filtered",
    "share, as audited (%)",
    "How many of 100 examples that the learner should have learned from it passed by; 10 may be.",
    ".1f",
    lambda run: 100 * run.decision_error,
)


def section(reproduction: Reproduction, mode: str) -> Section:
    paper = mode == "paper"
    return Section(
        f"mnist-{mode}",
        "MNIST as the paper runs it" if paper else "MNIST with our defaults",
        [
            "Algorithm 1 with the constant boundary at δ = 10 %, one pass, its last weights, nobody checks the level. "
            "Budgeted reads the same number of features of every example, as many as Attentive read on average. 'full' "
            "is Algorithm 1 that never stops, 'full, Pegasos's rule' is Pegasos as its authors wrote it. There is no "
            "sorted Budgeted: it would never read what it has not read before."
            if paper
            else "The curved boundary at δ = 10 %, kept at its level by the audit; Pegasos's own update, averaged "
            "weights, five passes. 'full' never stops, in learning or in prediction.",
            f"Mean and standard deviation over {reproduction.size.permutations} permutations of the data.",
        ],
        [
            *(_exhibit(reproduction, mode, panel, _rows(reproduction, mode)) for panel in PANELS),
            *([] if paper else [_exhibit(reproduction, mode, AUDITED, _rows(reproduction, mode, "attentive"))]),
            *(_curve(reproduction, mode, pair) for pair in PAPER_PAIRS),
        ],
    )


def _rows(reproduction: Reproduction, mode: str, *only: str) -> list[tuple[str, str]]:
    """Return algorithm and order of each run, in the order of the runs."""
    runs = pick(reproduction.runs, mode=mode)
    return list(dict.fromkeys((run.algorithm, run.order) for run in runs if not only or run.algorithm in only))


def _label(algorithm: str, order: str) -> str:
    return f"{algorithm}, {ORDER_NAMES[order]}" if order else algorithm


def _exhibit(reproduction: Reproduction, mode: str, panel: Panel, rows: list[tuple[str, str]]) -> Exhibit:
    title, unit = panel.title, panel.unit
    cells = {
        (row, pair): summarise(reproduction.runs, panel.value, mode=mode, pair=pair, algorithm=row[0], order=row[1])
        for row in rows
        for pair in PAPER_PAIRS
    }

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for k, (pair, color) in enumerate(zip(PAPER_PAIRS, COLORS, strict=False)):
            summaries = [cells[row, pair] for row in rows]
            heights = -np.arange(len(rows)) - 0.22 * (k - 1)
            axes.errorbar(
                [s.mean for s in summaries],
                heights,
                xerr=np.nan_to_num([s.sd for s in summaries]),
                fmt="o",
                ms=4,
                lw=1.2,
                color=color,
                label=versus(pair),
            )
        axes.set_yticks(-np.arange(len(rows)), [_label(*row) for row in rows])
        axes.set(xlabel=unit, xlim=(0, None))
        axes.grid(axis="x", lw=0.3)
        figure.legend(loc="outside upper right", ncols=3)

    where = "as the paper" if mode == "paper" else "defaults"
    return Exhibit(
        title,
        f"{unit[0].upper()}{unit[1:]}, {where}.",
        draw(f"{title}, {where}", paint),
        Table(
            panel.says,
            ["", *map(versus, PAPER_PAIRS)],
            [[_label(*row), *(f"{cells[row, pair]:{panel.spec}}" for pair in PAPER_PAIRS)] for row in rows],
        ),
    )


def _curve(reproduction: Reproduction, mode: str, pair: tuple[int, int]) -> Exhibit:
    names = list(dict.fromkeys(curve.algorithm for curve in pick(reproduction.curves, mode=mode, pair=pair)))
    means, lows, highs, features = {}, {}, {}, {}
    for name in names:
        curves = pick(reproduction.curves, mode=mode, pair=pair, algorithm=name)
        errors = np.array([curve.error for curve in curves])
        features[name] = np.mean([curve.features for curve in curves], axis=0)
        means[name] = errors.mean(axis=0)
        lows[name], highs[name] = np.quantile(errors, [0.1, 0.9], axis=0)

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for name, color in zip(names, COLORS, strict=False):
            axes.plot(features[name], means[name], color=color, marker="o", ms=2.5, label=name)
            axes.fill_between(features[name], lows[name], highs[name], color=color, alpha=0.2, lw=0)
        axes.set(xscale="log", yscale="log", xlabel="features read so far", ylabel="test error, read in full (%)")
        ticks = [tick for tick in (0.2, 0.5, 1, 2, 5, 10, 20, 50) if min(map(np.min, lows.values())) <= tick]
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_yticks([], minor=True)
        figure.legend(loc="outside upper center", ncols=len(names))

    chosen = np.linspace(0, len(means["full"]) - 1, 6).astype(int)
    title = f"Learning curves, {versus(pair)}"
    return Exhibit(
        title,
        "One pass: test error of the weights so far against the features read to get there; the mean, and the band "
        "that holds all permutations but the two outer tenths. The further left a curve falls, the cheaper the "
        "learner. Attentive in sorted order, Budgeted permuted.",
        draw(f"{title}, {mode}", paint),
        Table(
            "Each line is a moment of the pass: how many features each learner has read so far, and how many of 100 "
            "test digits its weights then label wrongly.",
            [text for name in names for text in (f"{name}: features", "error (%)")],
            [
                [text for name in names for text in (f"{features[name][k]:,.0f}", f"{means[name][k]:.2f}")]
                for k in chosen
            ],
        ),
    )
