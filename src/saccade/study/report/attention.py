"""Plots of attention: the pixels read and the partial margins."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from saccade.study.experiments.attention import Attention, DigitRead
from saccade.study.experiments.digits import N_PIXELS
from saccade.study.report.exhibits import BLUE, GREY, ORANGE, PURPLE, Exhibit, Section, Table, draw
from saccade.study.report.plans import scale_by_count

SIDE = 28


def section(attention: Attention) -> Section:
    return Section(
        "attention",
        "Attention, seen",
        [
            "Easy digits are decided after a glance, hard digits are looked at for longer. The coloured pixels were "
            "read, the strongest coloured first, in the order of their weights; the model never looked at the rest.",
        ],
        [_easy_and_hard(attention), _gallery(attention)],
    )


def picture(attention: Attention) -> str:
    """Return the easy and the hard digit with their partial margins, as SVG."""

    def paint(figure: Figure) -> None:
        panels = figure.subplot_mosaic([["easy", "hard"], ["walk", "walk"]], height_ratios=[1, 1.3])
        first, second, axes = panels["easy"], panels["hard"], panels["walk"]
        for image, panel, color in ((attention.easy, first, BLUE), (attention.hard, second, ORANGE)):
            _show(panel, image, color)
            panel.set_title(f"{len(image.order)} of {N_PIXELS} pixels", fontsize=9)
            steps = np.arange(1, len(image.order) + 1)
            axes.plot(steps, image.walk, color=color, lw=1.2)
            axes.plot(steps[-1], image.walk[-1], "o", color=color, ms=5)
        axes.plot(attention.checkpoints, attention.upper, color=GREY, lw=1)
        axes.plot(attention.checkpoints, attention.lower, color=GREY, lw=1, ls="--")
        scale_by_count(axes, N_PIXELS)
        axes.set(xlim=(1, N_PIXELS), xlabel="pixels read", ylabel="margin so far")
        reach = 1.3 * max(map(abs, (*attention.easy.walk, *attention.hard.walk)))
        axes.set_ylim(-reach, reach)
        low, high = attention.pair
        axes.annotate(f"at the solid line: it is a {high}", (1.2, 0.82 * reach), fontsize=8)
        axes.annotate(f"at the dashed line: it is a {low}", (1.2, -0.9 * reach), fontsize=8)

    return draw("Pixels read of an easy and of a hard digit, and their walks to the boundary", paint, height=4.6)


def _show(axes: Axes, image: DigitRead, color: str) -> None:
    """Show the digit in grey, and over it the pixels that were read, the first in the strongest tint."""
    axes.imshow(np.reshape(image.pixels, (SIDE, SIDE)), cmap="Greys", vmin=0, vmax=300)
    tint = np.zeros((N_PIXELS, 4))
    tint[:, :3] = to_rgb(color)
    tint[list(image.order), 3] = np.linspace(0.9, 0.25, len(image.order))
    axes.imshow(tint.reshape(SIDE, SIDE, 4))
    axes.set_axis_off()


def _describe(image: DigitRead) -> list[str]:
    verdict = "right" if image.said == image.digit else "wrong"
    return [
        str(image.digit),
        f"{image.said} ({verdict})",
        f"{len(image.order)}",
        f"{image.walk[-1]:+.2f}",
        "stopped" if image.stopped else "read to the end",
    ]


_HEADER = ("digit", "said", "pixels read", "margin at the end", "ending")


def _easy_and_hard(attention: Attention) -> Exhibit:
    return Exhibit(
        "An easy and a hard digit",
        "Above: what was read of each. Below: the margin after each pixel, until it reaches the boundary.",
        picture(attention),
        Table(
            f"The easy digit was clear after {len(attention.easy.order)} of its {N_PIXELS} pixels, the hard one after "
            f"{len(attention.hard.order)}.",
            _HEADER,
            [_describe(attention.easy), _describe(attention.hard)],
        ),
    )


def _gallery(attention: Attention) -> Exhibit:
    images = [*attention.fewest, *attention.most]

    def paint(figure: Figure) -> None:
        for panel, image in zip(figure.subplots(4, 5).flat, images, strict=True):
            _show(panel, image, BLUE if image.said == image.digit else PURPLE)
            wrong = "" if image.said == image.digit else f", said {image.said}"
            panel.set_title(f"{len(image.order)}{wrong}", fontsize=8)

    return Exhibit(
        "Fewest and most",
        "The test digits that took fewest pixels (two rows above) and most (two rows below). Purple: said wrongly.",
        draw("Digits that took fewest and most pixels", paint, height=4.3),
        Table(
            "Each line is a test digit: what it is, what was said, and how many pixels that took. A margin above zero "
            f"speaks for a {attention.pair[1]}, one below for a {attention.pair[0]}.",
            _HEADER,
            [_describe(image) for image in images],
        ),
    )
