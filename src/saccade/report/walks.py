"""The simulated walks, drawn."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from saccade.experiments.reproduction import Reproduction
from saccade.experiments.summaries import pick
from saccade.experiments.walks import DELTAS, FORMS, TAILS, WalkRecord, exponent
from saccade.report.exhibits import COLORS, GREY, Exhibit, Section, Table, draw


def section(found: Reproduction) -> Section:
    return Section(
        "walks",
        "Simulated walks: does the boundary err as often as it says?",
        [
            "A margin is a sum, and summing it feature by feature is a walk. Here every step is drawn at random with "
            "mean 0.05 and variance 1, as in the paper's simulation, and the boundary says when to stop. A walk is "
            "important if its end lies below the threshold θ; stopping it is a decision error, and δ is how often that "
            "may happen.",
            f"Each figure is from {found.size.walks:,} walks. Important ones are drawn directly, however rare they "
            "are, so the error rates have small intervals everywhere.",
        ],
        [
            _constant_levels(found),
            _forms(found),
            *(_curved_levels(found, tail) for tail in TAILS),
            _stopping(found),
            _correlated(found),
        ],
    )


def _share(value: float) -> str:
    return f"{100 * value:.1f}" if value >= 0.001 or value == 0 else f"{100 * value:.2f}"


def _with_interval(record: WalkRecord) -> str:
    return f"{_share(record.missed)} ({_share(record.missed_low)} to {_share(record.missed_high)})"


def _percent_axes(figure: Figure, ylabel: str) -> Axes:
    axes = figure.subplots()
    axes.plot([1, 30], [1, 30], color=GREY, lw=1, ls=":")
    axes.annotate("as promised", (16, 16), color=GREY, rotation=35, ha="center", va="bottom", fontsize=8)
    ticks = [0.1, 0.3, 1, 3, 10, 30, 100]
    axes.set(xscale="log", yscale="log", xlabel="level asked for, δ (%)", ylabel=ylabel)
    axes.set_xticks([1, 2, 5, 10, 20, 30], ["1", "2", "5", "10", "20", "30"], minor=False)
    axes.set_xticks([], minor=True)
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
    axes.set_yticks([], minor=True)
    return axes


def _lines(axes: Axes, lengths: Sequence[int], records: Sequence[WalkRecord]) -> None:
    """Draw the share of important walks that were stopped against the level, with intervals, one line a length."""
    for n, color in zip(lengths, COLORS, strict=False):
        of_n = pick(records, n=n)
        middle = np.array([r.missed for r in of_n])
        below, above = middle - [r.missed_low for r in of_n], [r.missed_high for r in of_n] - middle
        levels = [100 * r.delta for r in of_n]
        axes.errorbar(levels, 100 * middle, 100 * np.array([below, above]), color=color, label=f"n = {n:,}", capsize=2)


def _by_length(lengths: Sequence[int], records: Sequence[WalkRecord], show: Callable[[WalkRecord], str]) -> Table:
    """Return a table of levels by lengths."""
    return Table(
        ["δ (%)", *(f"n = {n:,}" for n in lengths)],
        [
            [f"{100 * delta:g}", *(show(record) for n in lengths for record in pick(records, delta=delta, n=n))]
            for delta in DELTAS
        ],
    )


def _constant_levels(found: Reproduction) -> Exhibit:
    lengths = found.size.lengths
    records = pick(found.walks, form="exact", theta=0.0, persistence=0.0)

    def paint(figure: Figure) -> None:
        _lines(_percent_axes(figure, "important walks stopped (%)"), lengths, records)
        figure.legend(loc="outside upper center", ncols=4, columnspacing=1.2)

    title = "The constant boundary on independent walks"
    return Exhibit(
        title,
        "Decision errors lie below the level: the boundary is conservative, as the paper says, because important walks "
        "end below the threshold and not at it. With θ = 0, where its three forms are the same. In per cent, with 95 % "
        "intervals; what is promised is δ itself.",
        draw(title, paint),
        _by_length(lengths, records, _with_interval),
    )


def _curved_levels(found: Reproduction, tail: str) -> Exhibit:
    lengths = found.size.lengths
    records = pick(found.walks, form=tail, persistence=0.0)

    def paint(figure: Figure) -> None:
        axes = _percent_axes(figure, "walks (%)")
        for n, color in zip(lengths, COLORS, strict=False):
            of_n = pick(records, n=n)
            levels = [100 * r.delta for r in of_n]
            axes.plot(levels, [100 * r.wrong_stops or np.nan for r in of_n], color=color, marker="o", ms=3)
            axes.plot(levels, [100 * r.missed or np.nan for r in of_n], color=color, ls="--")
            axes.plot([], [], color=color, label=f"n = {n:,}")
        axes.set_ylim(0.03, 150)
        figure.legend(loc="outside upper center", ncols=4, columnspacing=1.2)

    def show(record: WalkRecord) -> str:
        return f"{_share(record.wrong_stops)}; {_with_interval(record)}"

    caption = (
        "Solid: wrong stops among all stops, which is what this boundary promises to keep below δ. Dashed: important "
        "walks that were stopped. In the table, in per cent: wrong stops; important ones stopped, with 95 % interval."
    )
    if tail == "gaussian":
        [longer] = pick(records, n=1024, delta=0.1)
        caption += (
            f" With n = 1,024 only {100 * longer.important:.1f} % of the walks are important, fewer than δ = 10 %: it "
            f"stops every walk after {longer.mean_stop:.0f} step, keeps its promise, and misses "
            f"{100 * longer.missed:.0f} % of what is important. That is why our audit also measures how rare important "
            "examples are."
        )
    title = f"The curved boundary, {tail} tail"
    return Exhibit(title, caption, draw(title, paint), _by_length(lengths, records, show))


def _forms(found: Reproduction) -> Exhibit:
    records = {form: pick(found.walks, form=form, theta=1.0) for form in FORMS}
    longest = max(found.size.lengths)

    def paint(figure: Figure) -> None:
        axes = _percent_axes(figure, "important walks stopped (%)")
        for (form, of_form), color in zip(records.items(), COLORS, strict=False):
            of_n = pick(of_form, n=longest)
            levels = [100 * r.delta for r in of_n]
            axes.plot(levels, [100 * r.missed or np.nan for r in of_n], color=color, marker="o", ms=3, label=form)
        figure.legend(loc="outside upper center", ncols=3)

    rows = [
        [
            f"{form}, n = {n:,}",
            *(
                f"{_share(record.missed)}; {record.mean_stop:,.0f}"
                for delta in DELTAS
                for record in pick(records[form], n=n, delta=delta)
            ),
        ]
        for n in found.size.lengths
        for form in FORMS
    ]
    title = "What the misprinted boundary costs"
    return Exhibit(
        title,
        f"θ one standard deviation above zero; in the plot n = {longest:,}. The boundary as printed, and as Algorithm "
        "1 simplifies it, lies too high: it reads more and uses only a fraction of the errors it was allowed. In the "
        "table: important walks stopped (%); mean steps.",
        draw(title, paint),
        Table(["", *(f"δ = {100 * delta:g} %" for delta in DELTAS)], rows),
    )


def _stopping(found: Reproduction) -> Exhibit:
    slope = exponent(found.stops)

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        lengths = [stop.n for stop in found.stops]
        last = found.stops[-1]
        axes.loglog(lengths, [stop.mean for stop in found.stops], color=COLORS[0], marker="o", ms=3, label="measured")
        axes.loglog(
            lengths,
            [last.mean * (n / last.n) ** 0.5 for n in lengths],
            color=GREY,
            ls=":",
            label="√n, through the last point",
        )
        axes.loglog(lengths, lengths, color=COLORS[1], lw=1, label="full computation")
        axes.set(xlabel="length of the walk, n (steps)", ylabel="mean stopping time (steps)")
        axes.legend(loc="upper left")

    table = Table(
        ["n", "mean steps", "standard error", "of the walk (%)"],
        [[f"{s.n:,}", f"{s.mean:,.1f}", f"{s.standard_error:.1f}", f"{100 * s.mean / s.n:.1f}"] for s in found.stops],
    )
    return Exhibit(
        "The stopping time grows like √n",
        f"Constant boundary, δ = 10 %. From n = 4,096 on the fitted exponent is {slope:.3f}, beside 0.5 in theory; "
        "shorter walks are too short for the drift to carry them to the boundary.",
        draw("The stopping time grows like the square root", paint),
        table,
    )


def _correlated(found: Reproduction) -> Exhibit:
    records = {
        form: sorted(pick(found.walks, form=form, n=256, delta=0.1, theta=0.0), key=lambda r: r.persistence)
        for form in ("exact", "gaussian")
    }
    names = {"exact": "constant: important stopped", "gaussian": "curved: wrong stops"}
    promised = {"exact": "missed", "gaussian": "wrong_stops"}

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for (form, of_form), color in zip(records.items(), COLORS, strict=False):
            values = [100 * getattr(r, promised[form]) for r in of_form]
            axes.plot([r.persistence for r in of_form], values, color=color, marker="o", ms=3, label=names[form])
        axes.axhline(10, color=GREY, ls=":", lw=1)
        axes.annotate("δ = 10 %", (0, 10), color=GREY, va="bottom", fontsize=8)
        axes.set(xlabel="correlation of neighbouring steps", ylabel="decision errors (%)", ylim=(0, None))
        axes.legend(loc="upper left")

    table = Table(
        ["correlation", "constant: missed (%)", "curved: wrong stops (%)", "curved: missed (%)"],
        [
            [f"{a.persistence:g}", _share(a.missed), _share(b.wrong_stops), _share(b.missed)]
            for a, b in zip(records["exact"], records["gaussian"], strict=True)
        ],
    )
    return Exhibit(
        "Where the independence assumption breaks",
        "The same boundaries on walks whose neighbouring steps are correlated, as the pixels of an image are; n = 256. "
        "Both promises break: the walk spreads wider than the sum of its variances says.",
        draw("Where the independence assumption breaks", paint),
        table,
    )
