"""The sections of the page: what each plot and table shows. Nothing is measured here."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from reproduction.attention import Attention, DigitRead
from reproduction.claims import versus
from reproduction.exhibits import BLUE, COLORS, GREY, ORANGE, Exhibit, Paint, Section, Table, bars, dots
from reproduction.experiments import Results
from reproduction.findings import open_question
from reproduction.learning import COMPARED, PAPER_PAIRS, QUESTION
from reproduction.mnist import N_PIXELS, SIDE, Pair
from reproduction.summaries import pick
from reproduction.walks import DELTAS, FORMS, TAILS, Interval, WalkRecord, exponent

RANGE = "In brackets: 95 % intervals."
AXES = "In per cent, with 95 % intervals; zeros are not drawn."
Groups = dict[str, list[WalkRecord]]


def attention(record: Attention) -> Section:
    """Show the pixels read of an easy and of a hard digit, and their walks to the boundary."""
    images = record.easy, record.hard

    def paint(figure: Figure) -> None:
        panels = figure.subplot_mosaic([["easy", "hard"], ["walk", "walk"]], height_ratios=[1, 1.3])
        axes = panels["walk"]
        for image, name, color in zip(images, ("easy", "hard"), (BLUE, ORANGE), strict=True):
            _show(panels[name], image, color)
            steps = np.arange(1, len(image.order) + 1)
            axes.plot(steps, image.walk, color=color, lw=1.2)
            axes.plot(steps[-1], image.walk[-1], "o", color=color, ms=5)
        axes.plot(record.checkpoints, record.upper, color=GREY, lw=1)
        axes.plot(record.checkpoints, record.lower, color=GREY, lw=1, ls="--")
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        reach = 1.3 * max(map(abs, (*record.easy.walk, *record.hard.walk)))
        axes.set(xlim=(1, N_PIXELS), ylim=(-reach, reach), xlabel="pixels read", ylabel="margin so far")
        low, high = record.pair
        axes.annotate(f"at the solid line: it is a {high}", (1.2, 0.82 * reach), fontsize=8)
        axes.annotate(f"at the dashed line: it is a {low}", (1.2, -0.9 * reach), fontsize=8)

    rows = [
        [
            str(image.digit),
            f"{image.label} ({'right' if image.label == image.digit else 'wrong'})",
            f"{len(image.order)}",
            f"{image.walk[-1]:+.2f}",
            "stopped" if image.stopped else "read to the end",
        ]
        for image in images
    ]
    exhibit = Exhibit(
        "An easy and a hard digit",
        "Above: the pixels that were read. Below: the margin after each pixel, until it reaches the boundary.",
        paint,
        Table(
            f"The easy digit was clear after {len(record.easy.order)} of its {N_PIXELS} pixels, the hard one after "
            f"{len(record.hard.order)}.",
            ("digit", "label", "pixels read", "margin at the end", "ending"),
            rows,
        ),
        height=4.6,
    )
    text = (
        "Easy digits are decided after a glance, hard digits take a longer look. The coloured pixels were read, the "
        "strongest coloured first, in the order of their weights; the model never looked at the rest."
    )
    return Section("attention", "Attention, seen", [text], [exhibit])


def _show(axes: Axes, image: DigitRead, color: str) -> None:
    """Show the digit in grey and tint the pixels that were read, the first ones most."""
    axes.imshow(np.reshape(image.pixels, (SIDE, SIDE)), cmap="Greys", vmin=0, vmax=300)
    tint = np.zeros((N_PIXELS, 4))
    tint[:, :3] = to_rgb(color)
    tint[list(image.order), 3] = np.linspace(0.9, 0.25, len(image.order))
    axes.imshow(tint.reshape(SIDE, SIDE, 4))
    axes.set_axis_off()
    axes.set_title(f"{len(image.order)} of {N_PIXELS} pixels", fontsize=9)


def walks(results: Results) -> Section:
    """Show errors and stopping times on simulated walks."""
    text = [
        "A margin is a sum, and summing it feature by feature is a walk. Here every step is drawn at random with "
        "mean 0.05 and variance 1, as in the paper's simulation, and the boundary says when to stop. A walk is "
        "important if its end lies below the threshold θ. Stopping it is a decision error, and δ is the share of "
        "important walks that may be stopped.",
        f"Each figure is from {results.size.walks:,} walks. Important walks are drawn directly, however rare, so that "
        "error rates are known equally well everywhere.",
    ]
    exhibits = [
        _constant_levels(results),
        _forms(results),
        *(_curved_levels(results, tail) for tail in TAILS),
        _stopping(results),
        _correlated(results),
    ]
    return Section("walks", "Simulated walks: does the boundary err as often as it says?", text, exhibits)


def _share(value: float) -> str:
    return f"{100 * value:.1f}" if value >= 0.001 or value == 0 else f"{100 * value:.2f}"


def _with_interval(values: Interval) -> str:
    middle, low, high = map(_share, values)
    return f"{middle} ({low} to {high})"


def _against_levels(groups: Groups, *, both: bool = False) -> Paint:
    """Draw the stopped important walks of each group against the level, or both kinds of errors."""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        axes.plot([1, 30], [1, 30], color=GREY, lw=1, ls=":", label="as promised")
        # Set the ticks before the data, or they would stretch the axes.
        ticks = [0.1, 0.3, 1, 3, 10, 30, 100]
        axes.set(xscale="log", yscale="log", xlabel="level, δ (%)")
        axes.set_ylabel("walks (%)" if both else "important walks stopped (%)")
        axes.set_xticks([1, 2, 5, 10, 20, 30], ["1", "2", "5", "10", "20", "30"], minor=False)
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
        axes.set_xticks([], minor=True)
        axes.set_yticks([], minor=True)
        for (label, records), color in zip(groups.items(), COLORS, strict=False):
            levels, missed = [100 * record.delta for record in records], [record.missed for record in records]
            if both:
                bars(axes, levels, [record.wrong for record in records], color, label)
                bars(axes, levels, missed, color, style="--")
            else:
                bars(axes, levels, missed, color, label)
        if both:
            axes.set_ylim(0.03, 150)
        figure.legend(loc="outside upper center", ncols=5)

    return paint


def _by_length(results: Results, **where: object) -> Groups:
    return {f"n = {n:,}": pick(results.walks, n=n, **where) for n in results.size.lengths}


def _level_table(says: str, groups: Groups, show: Callable[[WalkRecord], str]) -> Table:
    """Return a table of levels by groups."""
    rows = [
        [f"{100 * delta:g}", *(show(record) for group in groups.values() for record in pick(group, delta=delta))]
        for delta in DELTAS
    ]
    return Table(says, ["δ (%)", *groups], rows)


def _constant_levels(results: Results) -> Exhibit:
    groups = _by_length(results, form="exact", theta=0.0, persistence=0.0)
    return Exhibit(
        "The constant boundary on independent walks",
        "The share of important walks that were stopped, against δ, the promised level. θ = 0, where the three forms "
        "of the boundary are the same. Important walks end below the threshold, but the boundary is derived for those "
        f"that end at it, so it errs less than it may. {AXES}",
        _against_levels(groups),
        _level_table(
            f"Stopped important walks per 100; δ is the limit. {RANGE}",
            groups,
            lambda record: _with_interval(record.missed),
        ),
    )


def _forms(results: Results) -> Exhibit:
    longest = max(results.size.lengths)
    groups = {form: pick(results.walks, form=form, theta=1.0, n=longest) for form in FORMS}
    rows = [
        [
            f"{form}, n = {n:,}",
            *(
                f"{_with_interval(record.missed)}; {record.mean_stop:,.0f}"
                for delta in DELTAS
                for record in pick(results.walks, form=form, theta=1.0, n=n, delta=delta)
            ),
        ]
        for n in results.size.lengths
        for form in FORMS
    ]
    return Exhibit(
        "The cost of the misprinted boundary",
        f"θ one standard deviation above zero; in the plot n = {longest:,}. The boundary as printed, and as Algorithm "
        f"1 simplifies it, is higher than the exact form: it reads more and uses less of its allowed errors. {AXES}",
        _against_levels(groups),
        Table(
            f"Stopped important walks per 100. {RANGE} After the semicolon: the mean number of steps.",
            ["", *(f"δ = {100 * delta:g} %" for delta in DELTAS)],
            rows,
        ),
    )


def _curved_levels(results: Results, tail: str) -> Exhibit:
    groups = _by_length(results, form=tail, persistence=0.0)
    caption = (
        "Solid: wrong stops among all stops, which this boundary promises to keep below δ. Dashed: important walks "
        f"that were stopped. {AXES}"
    )
    if tail == "gaussian":
        [record] = pick(groups["n = 1,024"], delta=0.1)
        caption += (
            f" With n = 1,024 and δ = 10 %, {100 * record.important:.1f} % of the walks are important; this boundary "
            f"stops after {record.mean_stop:.0f} steps on average and stops {100 * record.missed[0]:.0f} % of the "
            "important walks. If important examples are rarer than δ, it may stop everything and still keep its "
            "promise. That is why our audit also measures how rare they are."
        )
    return Exhibit(
        f"The curved boundary, {tail} tail",
        caption,
        _against_levels(groups, both=True),
        _level_table(
            f"Wrong stops per 100 stops; δ is the limit. After the semicolon, stopped important walks per 100. {RANGE}",
            groups,
            lambda record: f"{_with_interval(record.wrong)}; {_with_interval(record.missed)}",
        ),
    )


def _stopping(results: Results) -> Exhibit:
    stops = results.stops
    first, last = stops[0], stops[-1]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        lengths = [stop.n for stop in stops]
        root = [last.mean * (n / last.n) ** 0.5 for n in lengths]
        axes.loglog(lengths, [stop.mean for stop in stops], color=BLUE, marker="o", ms=3, label="measured")
        axes.loglog(lengths, root, color=GREY, ls=":", label="√n, through the last point")
        axes.loglog(lengths, lengths, color=ORANGE, lw=1, label="full computation")
        axes.set(xlabel="length of the walk, n (steps)", ylabel="mean stopping time (steps)")
        figure.legend(loc="outside upper center", ncols=3)

    return Exhibit(
        "The stopping time grows like √n",
        f"Constant boundary, δ = 10 %. From n = 4,096 on the fitted exponent is {exponent(stops):.3f}, against 0.5 in "
        "theory; shorter walks are too short for the drift to carry them to the boundary.",
        paint,
        Table(
            f"A walk of {first.n:,} steps is read to {100 * first.mean / first.n:.0f} % on average, one of "
            f"{last.n:,} steps to {100 * last.mean / last.n:.0f} %.",
            ["n", "mean steps", "standard error", "of the walk (%)"],
            [[f"{s.n:,}", f"{s.mean:,.1f}", f"{s.standard_error:.1f}", f"{100 * s.mean / s.n:.1f}"] for s in stops],
        ),
    )


def _correlated(results: Results) -> Exhibit:
    constant, curved = (
        sorted(pick(results.walks, form=form, n=256, delta=0.1, theta=0.0), key=lambda record: record.persistence)
        for form in ("exact", "gaussian")
    )
    where = [record.persistence for record in constant]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        bars(axes, where, [record.missed for record in constant], BLUE, "constant: important stopped")
        bars(axes, where, [record.wrong for record in curved], ORANGE, "curved: wrong stops")
        axes.axhline(10, color=GREY, ls=":", lw=1, label="δ = 10 %")
        axes.set(xlabel="correlation of neighbouring steps", ylabel="decision errors (%)", ylim=(0, None))
        figure.legend(loc="outside upper center", ncols=3)

    return Exhibit(
        "Where the independence assumption breaks",
        "The same boundaries on walks whose neighbouring steps are correlated, like the pixels of an image; n = 256, "
        "δ = 10 %. The variance of a correlated walk exceeds the sum of its steps' variances. In per cent, with 95 % "
        "intervals.",
        paint,
        Table(
            f"The constant boundary stops {_share(constant[0].missed[0])} of 100 important walks if steps are "
            f"independent, and {_share(constant[-1].missed[0])} if neighbours are correlated by {where[-1]:g}. {RANGE}",
            ["correlation", "constant: important stopped", "curved: wrong stops", "curved: important stopped"],
            [
                [f"{a.persistence:g}", *map(_with_interval, (a.missed, b.wrong, b.missed))]
                for a, b in zip(constant, curved, strict=True)
            ],
        ),
    )


class Panel(NamedTuple):
    """A figure of every algorithm."""

    title: str
    unit: str
    says: str
    spec: str
    name: str


PANELS = [
    Panel(
        "Features read in learning",
        "features per example (of 784)",
        "Pixels read of a training image, on average: the fewer, the cheaper.",
        ".0f",
        "features_learned",
    ),
    Panel(
        "Error of the learned weights, read in full",
        "test error (%)",
        "Wrong labels per 100 test digits if every pixel is read.",
        ".2f",
        "error_full",
    ),
    Panel(
        "Error when prediction stops early",
        "test error (%)",
        "Wrong labels per 100 test digits if reading stops as soon as the label seems clear.",
        ".2f",
        "error_stopped",
    ),
    Panel(
        "Features read in prediction",
        "features per image (of 784)",
        "Pixels read of a test digit before its label seems clear, on average.",
        ".0f",
        "features_predicted",
    ),
]
AUDITED = Panel(
    "Important examples that were filtered",
    "share, as audited (%)",
    "Filtered examples per 100 important ones; the limit is 10.",
    ".1f",
    "decision_error",
)


def comparison(results: Results, mode: str) -> Section:
    """Compare the algorithms, as the paper runs them or with saccade's defaults."""
    paper = mode == "paper"
    audited = [name for name in COMPARED[mode] if name.startswith("attentive")]
    return Section(
        f"mnist-{mode}",
        "MNIST as the paper runs it" if paper else "MNIST with our defaults",
        [
            "Algorithm 1 with the constant boundary at δ = 10 %, one pass, last weights, no check of the level. "
            "Budgeted reads the same number of features of every example: the average that Attentive read. 'full' is "
            "Algorithm 1 without stops, 'full, Pegasos's rule' is Pegasos as its authors wrote it. There is no sorted "
            "Budgeted: it would never learn the features that it has not read yet."
            if paper
            else "The curved boundary at δ = 10 %, kept at its level by the audit; Pegasos's own update, averaged "
            "weights, five passes. 'full' never stops, in learning or in prediction.",
            f"Mean and standard deviation over {results.size.permutations} permutations of the data.",
        ],
        [
            *(_panel(results, mode, panel, list(COMPARED[mode])) for panel in PANELS),
            *([] if paper else [_panel(results, mode, AUDITED, audited)]),
            *(_curve(results, mode, pair) for pair in PAPER_PAIRS),
        ],
    )


def _panel(results: Results, mode: str, panel: Panel, names: list[str]) -> Exhibit:
    columns = {
        versus(pair): [results.summary(panel.name, COMPARED[mode][name], pair) for name in names]
        for pair in PAPER_PAIRS
    }

    def paint(figure: Figure) -> None:
        dots(figure, names, columns, panel.unit).set_xlim(0, None)

    where = "as in the paper" if mode == "paper" else "defaults"
    rows = [
        [name, *(f"{summary:{panel.spec}}" for summary in row)]
        for name, *row in zip(names, *columns.values(), strict=True)
    ]
    caption = f"{panel.unit[0].upper()}{panel.unit[1:]}, {where}."
    return Exhibit(panel.title, caption, paint, Table(panel.says, ["", *columns], rows))


def _curve(results: Results, mode: str, pair: Pair) -> Exhibit:
    curves = pick(results.curves, mode=mode, pair=pair)
    names = list(dict.fromkeys(curve.algorithm for curve in curves))
    errors = {name: np.array([curve.error for curve in pick(curves, algorithm=name)]) for name in names}
    features = {name: np.mean([curve.features for curve in pick(curves, algorithm=name)], axis=0) for name in names}

    def paint(figure: Figure) -> None:
        axes, lowest = figure.subplots(), np.inf
        for name, color in zip(names, COLORS, strict=False):
            low, high = np.quantile(errors[name], [0.1, 0.9], axis=0)
            axes.plot(features[name], errors[name].mean(axis=0), color=color, marker="o", ms=2.5, label=name)
            axes.fill_between(features[name], low, high, color=color, alpha=0.2, lw=0)
            lowest = min(lowest, low.min())
        axes.set(xscale="log", yscale="log", xlabel="features read so far", ylabel="test error, read in full (%)")
        ticks = [tick for tick in (0.2, 0.5, 1, 2, 5, 10, 20, 50) if lowest <= tick]
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_yticks([], minor=True)
        figure.legend(loc="outside upper center", ncols=len(names))

    where = "Algorithm 1" if mode == "paper" else "Our defaults"
    return Exhibit(
        f"Learning curves, {versus(pair)}",
        f"{where}, one pass: test error of the weights so far against the features read so far. The line is the mean, "
        "the band omits the lowest and the highest tenth of the permutations. The further left a curve falls, the "
        "cheaper the learner. Attentive in sorted order, Budgeted permuted.",
        paint,
        Table(
            "Each row is a point of the pass: the features that each learner has read so far, and the wrong labels per "
            "100 test digits with its weights at that point.",
            [text for name in names for text in (f"{name}: features", "error (%)")],
            [
                [text for name in names for text in (f"{features[name][k]:,.0f}", f"{errors[name][:, k].mean():.2f}")]
                for k in np.linspace(0, len(features["full"]) - 1, 6).astype(int)
            ],
        ),
    )


def question(results: Results) -> Section:
    """Show when stopped prediction was better than the full read."""
    gains = {
        versus(pair): [results.summary("gain", setting, pair) for setting in QUESTION.values()] for pair in PAPER_PAIRS
    }

    def paint(figure: Figure) -> None:
        axes = dots(figure, list(QUESTION), gains, "gain (points)")
        axes.axvline(0, color=GREY, lw=1, ls=":")

    rows = [
        [
            name,
            *(
                " / ".join(
                    f"{results.summary(figure, setting, pair).mean:.2f}"
                    for figure in ("error_stopped", "error_full", "error_recentred")
                )
                for pair in PAPER_PAIRS
            ),
        ]
        for name, setting in QUESTION.items()
    ]
    exhibit = Exhibit(
        "Stopped prediction against the full read of the same weights",
        "To the right of the dotted line stopping was better; means and standard deviations over the permutations. "
        "Constant boundary, sorted.",
        paint,
        Table(
            "Wrong labels per 100 test digits: with early exit / all pixels read / all pixels read and the intercept "
            "moved. If the first is the smallest, stopping was best.",
            ["", *gains],
            rows,
        ),
        height=5.2,
    )
    text = (
        "The paper ends on a surprise: its stopped prediction made fewer errors than the full computation. If that "
        "held in general, reading less would be better for its own sake. So we learned in sixteen ways and compared."
    )
    return Section(
        "question", "The open question: can stopping early predict better?", [text, *open_question(results)], [exhibit]
    )
