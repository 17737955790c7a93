"""The claims and the main figures as plain text, for a terminal or a pipe."""

import textwrap

from saccade.study.experiments.claims import claims, versus
from saccade.study.experiments.digits import PAPER_PAIRS
from saccade.study.experiments.reproduction import Reproduction
from saccade.study.experiments.summaries import pick, summarise

WIDTH = 100


def render(reproduction: Reproduction) -> str:
    return "\n".join([*_claims(reproduction), "", *_runs(reproduction)])


def _claims(reproduction: Reproduction) -> list[str]:
    lines = []
    for claim in claims(reproduction):
        lines.append(f"{claim.says}: {claim.verdict.upper()}")
        details = claim.measured + (f" [{claim.condition}]" if claim.condition else "")
        lines += textwrap.wrap(details, WIDTH, initial_indent="    ", subsequent_indent="    ")
    return lines


def _runs(reproduction: Reproduction) -> list[str]:
    columns = "{:8} {:8} {:32} {:>12} {:>16} {:>16} {:>12}"
    lines = [
        columns.format("digits", "learner", "", "learned from", "error, full", "error, stopped", "predicted by"),
        columns.format("", "", "", "features", "%", "%", "features"),
    ]
    for mode in ("paper", "honest"):
        for pair in PAPER_PAIRS:
            runs = pick(reproduction.runs, mode=mode, pair=pair)
            for algorithm, order in dict.fromkeys((run.algorithm, run.order) for run in runs):
                group = pick(runs, algorithm=algorithm, order=order)
                lines.append(
                    columns.format(
                        versus(pair),
                        mode,
                        f"{algorithm}, {order}" if order else algorithm,
                        f"{summarise(group, lambda run: run.features_learned).mean:.0f}",
                        f"{summarise(group, lambda run: run.score.error_full):.2f}",
                        f"{summarise(group, lambda run: run.score.error_stopped):.2f}",
                        f"{summarise(group, lambda run: run.score.features_predicted).mean:.0f}",
                    )
                )
    return lines
