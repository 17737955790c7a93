"""Plots of the simulated walks."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from saccade.study.experiments.reproduction import Reproduction
from saccade.study.experiments.summaries import pick
from saccade.study.experiments.walks import DELTAS, FORMS, TAILS, WalkRecord, exponent
from saccade.study.report.exhibits import COLORS, GREY, Exhibit, Section, Table, draw


def section(reproduction: Reproduction) -> Section:
    return Section(
        "walks",
        "Simulated walks: does the boundary err as often as it says?",
        [
            "A margin is a sum, and summing it feature by feature is a walk. Here every step is drawn at random with "
            "mean 0.05 and variance 1, as in the paper's simulation, and the boundary says when to stop. A walk is "
            "important if its end lies below the threshold θ; stopping it is a decision error, and δ is how often that "
            "may happen.",
            f"Each figure is from {reproduction.size.walks:,} walks. Important walks are drawn directly, however "
            "rare, so that error rates are known equally well everywhere.",
        ],
        [
            _constant_levels(reproduction),
            _forms(reproduction),
            *(_curved_levels(reproduction, tail) for tail in TAILS),
            _stopping(reproduction),
            _correlated(reproduction),
        ],
    )


Interval = tuple[float, float, float]  # a share and its confidence limits


def _share(value: float) -> str:
    return f"{100 * value:.1f}" if value >= 0.001 or value == 0 else f"{100 * value:.2f}"


def _with_interval(values: Interval) -> str:
    middle, low, high = map(_share, values)
    return f"{middle} ({low} to {high})"


def _percent_axes(figure: Figure, ylabel: str) -> Axes:
    axes = figure.subplots()
    axes.plot([1, 30], [1, 30], color=GREY, lw=1, ls=":", label="as promised")
    ticks = [0.1, 0.3, 1, 3, 10, 30, 100]
    axes.set(xscale="log", yscale="log", xlabel="level asked for, δ (%)", ylabel=ylabel)
    axes.set_xticks([1, 2, 5, 10, 20, 30], ["1", "2", "5", "10", "20", "30"], minor=False)
    axes.set_xticks([], minor=True)
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
    axes.set_yticks([], minor=True)
    return axes


def _bars(
    axes: Axes, where: Sequence[float], values: Sequence[Interval], color: str, label: str = "", style: str = "-"
) -> None:
    """Draw shares in per cent with their intervals; a share of zero has no place on a logarithmic axis."""
    middle, low, high = 100 * np.array(values).T
    shown = np.where(middle > 0, middle, np.nan)
    axes.errorbar(
        where, shown, [shown - low, high - shown], color=color, label=label, ls=style, capsize=2, elinewidth=0.8
    )


def _by_length(
    says: str, lengths: Sequence[int], records: Sequence[WalkRecord], show: Callable[[WalkRecord], str]
) -> Table:
    """Return a table of levels by lengths."""
    return Table(
        says,
        ["δ (%)", *(f"n = {n:,}" for n in lengths)],
        [
            [f"{100 * delta:g}", *(show(record) for n in lengths for record in pick(records, delta=delta, n=n))]
            for delta in DELTAS
        ],
    )


def _levels(records: Sequence[WalkRecord]) -> list[float]:
    return [100 * record.delta for record in records]


def _constant_levels(reproduction: Reproduction) -> Exhibit:
    lengths = reproduction.size.lengths
    records = pick(reproduction.walks, form="exact", theta=0.0, persistence=0.0)

    def paint(figure: Figure) -> None:
        axes = _percent_axes(figure, "important walks stopped (%)")
        for n, color in zip(lengths, COLORS, strict=False):
            of_n = pick(records, n=n)
            _bars(axes, _levels(of_n), [r.missed_stops for r in of_n], color, f"n = {n:,}")
        figure.legend(loc="outside upper center", ncols=5)

    title = "The constant boundary on independent walks"
    return Exhibit(
        title,
        "The share of important walks that were stopped, beside δ, the level promised. With θ = 0, where the three "
        "forms of the boundary are the same. Important walks end below the threshold, and the boundary is derived for "
        "those that end at it: so it errs less than it may. In per cent, with 95 % intervals; zeros are not drawn.",
        draw(title, paint),
        _by_length(
            "How many of 100 walks that should have been read to the end were stopped; δ says how many may be. In "
            "brackets: the range that chance leaves open.",
            lengths,
            records,
            lambda record: _with_interval(record.missed_stops),
        ),
    )


def _forms(reproduction: Reproduction) -> Exhibit:
    longest = max(reproduction.size.lengths)

    def paint(figure: Figure) -> None:
        axes = _percent_axes(figure, "important walks stopped (%)")
        for form, color in zip(FORMS, COLORS, strict=False):
            of_form = pick(reproduction.walks, form=form, theta=1.0, n=longest)
            _bars(axes, _levels(of_form), [r.missed_stops for r in of_form], color, form)
        figure.legend(loc="outside upper center", ncols=4)

    rows = [
        [
            f"{form}, n = {n:,}",
            *(
                f"{_with_interval(record.missed_stops)}; {record.mean_stop:,.0f}"
                for delta in DELTAS
                for record in pick(reproduction.walks, form=form, theta=1.0, n=n, delta=delta)
            ),
        ]
        for n in reproduction.size.lengths
        for form in FORMS
    ]
    title = "What the misprinted boundary costs"
    return Exhibit(
        title,
        f"θ one standard deviation above zero; in the plot n = {longest:,}. The boundary as printed, and as Algorithm "
        "1 simplifies it, lies higher than the exact form: it reads more and uses less of the errors it was allowed. "
        "In per cent, with 95 % intervals; zeros are not drawn.",
        draw(title, paint),
        Table(
            "How many of 100 important walks were stopped, in brackets the range that chance leaves open, and after "
            "the semicolon how many steps were taken on average.",
            ["", *(f"δ = {100 * delta:g} %" for delta in DELTAS)],
            rows,
        ),
    )


def _curved_levels(reproduction: Reproduction, tail: str) -> Exhibit:
    lengths = reproduction.size.lengths
    records = pick(reproduction.walks, form=tail, persistence=0.0)

    def paint(figure: Figure) -> None:
        axes = _percent_axes(figure, "walks (%)")
        for n, color in zip(lengths, COLORS, strict=False):
            of_n = pick(records, n=n)
            _bars(axes, _levels(of_n), [r.wrong_stops for r in of_n], color, f"n = {n:,}")
            _bars(axes, _levels(of_n), [r.missed_stops for r in of_n], color, style="--")
        axes.set_ylim(0.03, 150)
        figure.legend(loc="outside upper center", ncols=5)

    def show(record: WalkRecord) -> str:
        return f"{_with_interval(record.wrong_stops)}; {_with_interval(record.missed_stops)}"

    caption = (
        "Solid: wrong stops among all stops, which is what this boundary promises to keep below δ. Dashed: important "
        "walks that were stopped. In per cent, with 95 % intervals; zeros are not drawn."
    )
    if tail == "gaussian":
        [record] = pick(records, n=1024, delta=0.1)
        caption += (
            f" With n = 1,024 and δ = 10 %, {100 * record.important:.1f} % of the walks are important; this boundary "
            f"stops after {record.mean_stop:.0f} steps on average and stops {100 * record.missed:.0f} % of the "
            "important walks. Where important examples are rarer than δ it may stop everything and still keep its "
            "promise. That is why our audit also measures how rare they are."
        )
    says = (
        "How many of 100 stops were wrong; δ says how many may be. After the semicolon, how many of 100 important "
        "walks were stopped. In brackets: the range that chance leaves open."
    )
    title = f"The curved boundary, {tail} tail"
    return Exhibit(title, caption, draw(title, paint), _by_length(says, lengths, records, show))


def _stopping(reproduction: Reproduction) -> Exhibit:
    slope = exponent(reproduction.stops)

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        lengths = [stop.n for stop in reproduction.stops]
        last = reproduction.stops[-1]
        axes.loglog(
            lengths, [stop.mean for stop in reproduction.stops], color=COLORS[0], marker="o", ms=3, label="measured"
        )
        axes.loglog(
            lengths,
            [last.mean * (n / last.n) ** 0.5 for n in lengths],
            color=GREY,
            ls=":",
            label="√n, through the last point",
        )
        axes.loglog(lengths, lengths, color=COLORS[1], lw=1, label="full computation")
        axes.set(xlabel="length of the walk, n (steps)", ylabel="mean stopping time (steps)")
        figure.legend(loc="outside upper center", ncols=3)

    shortest, longest = reproduction.stops[0], reproduction.stops[-1]
    table = Table(
        f"A walk of {shortest.n:,} steps is read to {100 * shortest.mean / shortest.n:.0f} % on average, one of "
        f"{longest.n:,} steps to {100 * longest.mean / longest.n:.0f} %.",
        ["n", "mean steps", "standard error", "of the walk (%)"],
        [
            [f"{s.n:,}", f"{s.mean:,.1f}", f"{s.standard_error:.1f}", f"{100 * s.mean / s.n:.1f}"]
            for s in reproduction.stops
        ],
    )
    return Exhibit(
        "The stopping time grows like √n",
        f"Constant boundary, δ = 10 %. From n = 4,096 on the fitted exponent is {slope:.3f}, beside 0.5 in theory; "
        "shorter walks are too short for the drift to carry them to the boundary.",
        draw("The stopping time grows like the square root", paint),
        table,
    )


def _correlated(reproduction: Reproduction) -> Exhibit:
    constant, curved = (
        sorted(pick(reproduction.walks, form=form, n=256, delta=0.1, theta=0.0), key=lambda record: record.persistence)
        for form in ("exact", "gaussian")
    )
    where = [record.persistence for record in constant]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        _bars(axes, where, [record.missed_stops for record in constant], COLORS[0], "constant: important stopped")
        _bars(axes, where, [record.wrong_stops for record in curved], COLORS[1], "curved: wrong stops")
        axes.axhline(10, color=GREY, ls=":", lw=1, label="δ = 10 %")
        axes.set(xlabel="correlation of neighbouring steps", ylabel="decision errors (%)", ylim=(0, None))
        figure.legend(loc="outside upper center", ncols=3)

    title = "Where the independence assumption breaks"
    return Exhibit(
        title,
        "The same boundaries on walks whose neighbouring steps are correlated, as the pixels of an image are; n = 256, "
        "δ = 10 %. The variance of a correlated walk exceeds the sum of its steps' variances. In per cent, with 95 % "
        "intervals.",
        draw(title, paint),
        Table(
            f"The constant boundary stops {_share(constant[0].missed)} of 100 important walks where steps are "
            f"independent, and {_share(constant[-1].missed)} where neighbours are correlated by {where[-1]:g}. In "
            "brackets: the range that chance leaves open.",
            ["correlation", "constant: important stopped", "curved: wrong stops", "curved: important stopped"],
            [
                [f"{a.persistence:g}", *map(_with_interval, (a.missed_stops, b.wrong_stops, b.missed_stops))]
                for a, b in zip(constant, curved, strict=True)
            ],
        ),
    )
