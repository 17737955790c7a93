"""The simulated walks, drawn."""

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
        [_constant_levels(found), _curved_levels(found), _forms(found), _stopping(found), _correlated(found)],
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


def _constant_levels(found: Reproduction) -> Exhibit:
    lengths = found.size.lengths

    def paint(figure: Figure) -> None:
        axes = _percent_axes(figure, "important walks stopped (%)")
        for n, color in zip(lengths, COLORS, strict=False):
            records = pick(found.walks, form="exact", theta=0.0, persistence=0.0, n=n)
            middle = [100 * r.missed for r in records]
            low = [100 * (r.missed - r.missed_low) for r in records]
            high = [100 * (r.missed_high - r.missed) for r in records]
            axes.errorbar(
                [100 * r.delta for r in records], middle, [low, high], color=color, label=f"n = {n:,}", capsize=2
            )
        figure.legend(loc="outside upper center", ncols=4, columnspacing=1.2)

    table = Table(
        ["δ (%)", *(f"n = {n:,}" for n in lengths)],
        [
            [
                f"{100 * delta:g}",
                *(
                    _with_interval(pick(found.walks, form="exact", theta=0.0, persistence=0.0, n=n, delta=delta)[0])
                    for n in lengths
                ),
            ]
            for delta in DELTAS
        ],
    )
    return Exhibit(
        "The constant boundary on independent walks",
        "Decision errors stay below the level at every length: the boundary is conservative, as the paper says, "
        "because important walks end below the threshold and not at it. In per cent, with 95 % intervals.",
        draw("The constant boundary on independent walks", paint),
        table,
    )


def _curved_levels(found: Reproduction) -> Exhibit:
    n = 256
    records = {tail: pick(found.walks, form=tail, n=n, persistence=0.0) for tail in TAILS}

    def paint(figure: Figure) -> None:
        axes = _percent_axes(figure, "walks (%)")
        for (tail, of_tail), color in zip(records.items(), COLORS, strict=False):
            deltas = [100 * r.delta for r in of_tail]
            axes.plot(
                deltas, [100 * max(r.wrong_stops, 1e-4) for r in of_tail], color=color, marker="o", ms=3, label=tail
            )
            axes.plot(deltas, [100 * max(r.missed, 1e-4) for r in of_tail], color=color, ls="--")
        axes.plot([], [], color=GREY, ls="--", label="missed")
        figure.legend(loc="outside upper center", ncols=4, columnspacing=1.2)
        axes.set_ylim(0.03, 150)

    table = Table(
        ["δ (%)", *(f"{tail}: {what}" for tail in TAILS for what in ("wrong stops", "missed"))],
        [
            [
                f"{100 * delta:g}",
                *(
                    _share(value)
                    for tail in TAILS
                    for record in pick(records[tail], delta=delta)
                    for value in (record.wrong_stops, record.missed)
                ),
            ]
            for delta in DELTAS
        ],
    )
    longer = pick(found.walks, form="gaussian", n=1024, delta=0.1, persistence=0.0)[0]
    return Exhibit(
        "The curved boundary keeps another promise",
        f"It bounds the share of wrong stops among all stops (solid lines, n = {n}), and keeps that. The share of "
        f"important walks that it stops (dashed) may be far above δ: with n = 1,024 only {100 * longer.important:.1f} "
        f"% of the walks are important, fewer than δ = 10 %, so it stops every walk after {longer.mean_stop:.0f} step "
        f"and misses {100 * longer.missed:.0f} % of them. That is why our audit also measures how rare important "
        "examples are.",
        draw("The curved boundary keeps another promise", paint),
        table,
    )


def _forms(found: Reproduction) -> Exhibit:
    records = {form: pick(found.walks, form=form, theta=1.0) for form in FORMS}
    n = records["exact"][0].n

    def paint(figure: Figure) -> None:
        axes = _percent_axes(figure, "important walks stopped (%)")
        for (form, of_form), color in zip(records.items(), COLORS, strict=False):
            kept = [r for r in of_form if r.missed > 0]
            axes.plot(
                [100 * r.delta for r in kept], [100 * r.missed for r in kept], color=color, marker="o", ms=3, label=form
            )
        figure.legend(loc="outside upper center", ncols=3)

    table = Table(
        ["δ (%)", *(f"{form}: {what}" for form in FORMS for what in ("missed (%)", "mean steps"))],
        [
            [
                f"{100 * delta:g}",
                *(
                    text
                    for form in FORMS
                    for record in pick(records[form], delta=delta)
                    for text in (_share(record.missed), f"{record.mean_stop:,.0f}")
                ),
            ]
            for delta in DELTAS
        ],
    )
    return Exhibit(
        "What the misprinted boundary costs",
        f"Walks of {n:,} steps with θ one standard deviation above zero. The boundary as printed, and as Algorithm 1 "
        "simplifies it, lies too high: it reads more and uses only a fraction of the errors it was allowed.",
        draw("What the misprinted boundary costs", paint),
        table,
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
