"""All 45 pairs of digits, drawn as heat maps."""

import numpy as np
from matplotlib.figure import Figure

from saccade.study.experiments.all_pairs import PAIRS, PairRecord
from saccade.study.experiments.claims import versus
from saccade.study.experiments.reproduction import Reproduction
from saccade.study.experiments.summaries import pick, summarise
from saccade.study.report.exhibits import Exhibit, Section, Table, draw


def section(reproduction: Reproduction) -> Section:
    def predicted(record: PairRecord) -> float:
        return record.score.features_predicted

    def loss(record: PairRecord) -> float:
        return record.score.error_stopped - record.score.error_full

    features = {pair: summarise(pick(reproduction.pairs, pair=pair), predicted).mean for pair in PAIRS}
    losses = {pair: summarise(pick(reproduction.pairs, pair=pair), loss).mean for pair in PAIRS}
    errors = {pair: summarise(pick(reproduction.pairs, pair=pair), lambda r: r.score.error_full).mean for pair in PAIRS}
    learned = np.mean([record.features_learned for record in reproduction.pairs])
    audited = np.array(
        [summarise(pick(reproduction.pairs, pair=pair), lambda r: r.decision_error).mean for pair in PAIRS]
    )
    hardest, easiest = max(features, key=features.__getitem__), min(features, key=features.__getitem__)
    return Section(
        "pairs",
        "All 45 pairs of digits",
        [
            f"Each pair learned with our defaults in five passes, which read {learned:.0f} of 784 features per example "
            "on average. The audit puts the share of important examples that were filtered at "
            f"{100 * audited.mean():.1f} % on average and {100 * audited.max():.1f} % at the worst, for δ = 10 %. "
            f"Stopped prediction reads {np.mean(list(features.values())):.0f} features per image on average, from "
            f"{features[easiest]:.0f} ({versus(easiest)}) to {features[hardest]:.0f} ({versus(hardest)}). It raises "
            f"the test error by {np.mean(list(losses.values())):.3f} points on average, and by "
            f"{max(losses.values()):.2f} at the worst.",
        ],
        [
            _heat_map(
                "Features read per test image",
                "features (of 784)",
                "Of 784, when prediction stops early. Mean over the permutations.",
                "How many pixels of an image are read on average to tell the line's digit from the column's.",
                features,
                ".0f",
                "viridis",
            ),
            _heat_map(
                "What stopping costs",
                "error (points)",
                "Test error when prediction stops minus test error of the full read, in points; below zero stopping "
                f"was better. The full read's error is {np.mean(list(errors.values())):.2f} % on average.",
                "How many more of 100 images get the wrong label when reading stops early; with a minus, how many "
                "fewer.",
                losses,
                ".2f",
                "RdBu_r",
            ),
        ],
    )


def _heat_map(
    title: str, unit: str, caption: str, says: str, values: dict[tuple[int, int], float], spec: str, colors: str
) -> Exhibit:
    grid = np.full((10, 10), np.nan)
    for (a, b), value in values.items():
        grid[b, a] = round(value, 4) + 0.0  # no minus before a zero
    bound = max(abs(value) for value in values.values())
    lowest = -bound if min(values.values()) < 0 else 0.0

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        mesh = axes.pcolormesh(np.arange(-0.5, 10), np.arange(-0.5, 10), grid, cmap=colors, vmin=lowest, vmax=bound)
        figure.colorbar(mesh, ax=axes, shrink=0.8, label=unit)
        axes.set(
            xticks=range(9), yticks=range(1, 10), xlim=(-0.5, 8.5), ylim=(9.5, 0.5), xlabel="digit", ylabel="digit"
        )
        axes.set_aspect("equal")
        figure.set_layout_engine("compressed", w_pad=0.1)  # squares leave the label on the left no room otherwise

    rows = [[str(b), *(f"{grid[b, a]:{spec}}" if a < b else "" for a in range(9))] for b in range(1, 10)]
    return Exhibit(title, caption, draw(title, paint, height=3.6), Table(says, ["vs", *map(str, range(9))], rows))
