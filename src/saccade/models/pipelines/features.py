"""The features between two steps of a pipeline: blocks, and what steps do to them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.models.tables.blocks import DOUBLE, Block, Columns, Formula, Made, Raw, expanded, mapped, selected
from saccade.models.tables.maps import Map, Scale

__all__ = [
    "Blocks",
    "RefusedError",
    "concatenated",
    "counted",
    "each",
    "elementwise",
    "joined",
    "raw_blocks",
    "singles",
    "taken",
]

Blocks = list[Block]
Places = NDArray[np.intp]


class RefusedError(TypeError):
    """A step that cannot be read column by column."""

    def __init__(self, step: Any, why: str) -> None:
        super().__init__(f"{_shown(step)} {why}")


def _shown(step: Any) -> str:
    shown = repr(step)
    return shown if len(shown) <= 80 else type(step).__name__


def raw_blocks(n_columns: int) -> Blocks:
    """Return the columns as a user passes them."""
    return [Block(np.arange(n_columns), Columns(np.arange(n_columns)))]


def counted(blocks: Sequence[Block]) -> int:
    """Return how many features there are."""
    return sum(block.width for block in blocks)


def taken(blocks: Sequence[Block], places: NDArray[np.integer]) -> Blocks:
    """Return some features, in this order; some may be taken twice."""
    chosen: Blocks = []
    places = np.asarray(places)
    for block in blocks:
        local = np.full(max(counted(blocks), 1), -1)
        local[block.places] = np.arange(block.width)
        new = np.flatnonzero(local[places] >= 0)
        own = local[places[new]]
        if isinstance(block.made, Columns):
            scales = tuple(scale[own] for scale in block.made.scales)
            chosen.append(Block(new, replace(block.made, each=block.made.each[own], scales=scales)))
        elif isinstance(block.made, Raw):
            chosen += [Block(np.array([place]), block.made) for place in new]
        elif new.size:
            same = np.array_equal(own, np.arange(block.width))
            chosen.append(Block(new, block.made if same else selected(block.made, own)))
    return chosen


def joined(blocks: Sequence[Block]) -> Blocks:
    """Return features that a step takes in one array: raw columns know each other from then on."""
    columns: set[int] = set()
    for block in blocks:
        if isinstance(block.made, Columns):
            columns.update(block.made.each.tolist())
        else:
            columns.update(block.made.columns if isinstance(block.made, Raw | Formula) else (DOUBLE,))
    together = tuple(sorted(columns))
    return [
        Block(block.places, replace(block.made, together=together))
        if isinstance(block.made, Raw | Columns) and not block.made.together
        else block
        for block in blocks
    ]


def concatenated(parts: Sequence[Sequence[Block]]) -> Blocks:
    """Return the features of several steps side by side."""
    together: Blocks = []
    begin = 0
    for blocks in parts:
        together += [Block(block.places + begin, block.made) for block in blocks]
        begin += counted(blocks)
    return together


def elementwise(blocks: Sequence[Block], step: Map) -> Blocks:
    """Return features behind a step that maps each by itself; ``step`` is for all of them."""
    made: Blocks = []
    for block in blocks:
        own = step[block.places]
        if isinstance(block.made, Columns) and isinstance(own, Scale):
            made.append(Block(block.places, replace(block.made, scales=(*block.made.scales, own))))
        else:
            made += [Block(one.places, mapped(one.made, step[one.places])) for one in expanded([block])]
    return made


def singles(blocks: Sequence[Block]) -> list[tuple[int, Made]]:
    """Return every feature by itself, in their order, with its place."""
    found = [
        (int(place), block.made if block.places.size == 1 else selected(block.made, np.array([k])))
        for block in expanded(blocks)
        for k, place in enumerate(block.places)
    ]
    return sorted(found, key=lambda single: single[0])


def each(blocks: Sequence[Block], made_of: Callable[[int, Made], tuple[Made, int]]) -> Blocks:
    """Return what a step makes of each feature: some features, and how many, in their order."""
    made, begin = [], 0
    for place, single in singles(blocks):
        features, width = made_of(place, single)
        if width:
            made.append(Block(np.arange(begin, begin + width), features))
        begin += width
    return made
