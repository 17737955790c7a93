"""The plot for the paper's open question."""

import numpy as np
from matplotlib.figure import Figure

from saccade.study.experiments.claims import versus
from saccade.study.experiments.digits import PAPER_PAIRS
from saccade.study.experiments.findings import open_question
from saccade.study.experiments.reproduction import Reproduction
from saccade.study.experiments.stopped_prediction import Trial
from saccade.study.experiments.summaries import pick, summarise
from saccade.study.report.exhibits import COLORS, GREY, Exhibit, Section, Table, draw


def section(reproduction: Reproduction) -> Section:
    return Section(
        "question",
        "The open question: can stopping early predict better?",
        [
            "The paper ends on a surprise: its stopped prediction made fewer errors than the full computation. If that "
            "held in general, reading less would be better for its own sake. So we learned in sixteen ways and "
            "compared.",
            *open_question(reproduction),
        ],
        [_gains(reproduction)],
    )


def _gains(reproduction: Reproduction) -> Exhibit:
    settings = list(dict.fromkeys((t.rule, t.average, t.audit, t.passes) for t in reproduction.trials))

    def trials_of(setting: tuple[str, bool, float, int], pair: tuple[int, int]) -> list[Trial]:
        rule, average, audit, passes = setting
        return pick(reproduction.trials, pair=pair, rule=rule, average=average, audit=audit, passes=passes)

    def name(setting: tuple[str, bool, float, int]) -> str:
        rule, average, audit, passes = setting
        how = "Algorithm 1" if rule == "algorithm1" else "Pegasos"
        weights = "averaged" if average else "last"
        return f"{how}, {weights}, {'audited, ' if audit else ''}{passes} pass{'es' if passes > 1 else ''}"

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for k, (pair, color) in enumerate(zip(PAPER_PAIRS, COLORS, strict=False)):
            gains = [summarise(trials_of(setting, pair), lambda trial: trial.gain) for setting in settings]
            heights = -np.arange(len(settings)) - 0.22 * (k - 1)
            deviations = np.nan_to_num([gain.sd for gain in gains])
            axes.errorbar(
                [gain.mean for gain in gains],
                heights,
                xerr=deviations,
                fmt="o",
                ms=3.5,
                lw=1,
                color=color,
                label=versus(pair),
            )
        axes.axvline(0, color=GREY, lw=1, ls=":")
        axes.set_yticks(-np.arange(len(settings)), [name(setting) for setting in settings])
        axes.set(xlabel="gain (points)")
        axes.grid(axis="x", lw=0.3)
        figure.legend(loc="outside upper right", ncols=3)

    def row(setting: tuple[str, bool, float, int]) -> list[str]:
        cells = [name(setting)]
        for pair in PAPER_PAIRS:
            trials = trials_of(setting, pair)
            cells.append(
                f"{summarise(trials, lambda t: t.score.error_stopped).mean:.2f} / "
                f"{summarise(trials, lambda t: t.score.error_full).mean:.2f} / "
                f"{summarise(trials, lambda t: t.error_recentred).mean:.2f}"
            )
        return cells

    return Exhibit(
        "Stopped prediction against the full read of the same weights",
        "To the right of the dotted line stopping was better; means and standard deviations over the permutations. "
        "Constant boundary, sorted.",
        draw("Stopped prediction against the full read", paint, height=5.2),
        Table(
            "How many of 100 test digits get the wrong label: when reading stops early / when all pixels are read / "
            "when all are read and the intercept is moved. Where the first is the smallest, stopping was best.",
            ["", *map(versus, PAPER_PAIRS)],
            [row(setting) for setting in settings],
        ),
    )
