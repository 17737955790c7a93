"""The trees that a plan reads between two checkpoints, and how they are read soonest."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.models.trees.walks import Walks
from saccade.reading.plan import Plan, per_plan

__all__ = ["Stage", "Stages", "are_walked", "stage_of", "stages_of"]

# Bringing a column of a row beside others costs this part of what it saves with each tree, by a scan in place of a walk
# or, where trees are deep, by a walk over near values in place of far ones.
SCANNED_COLUMNS_PER_TREE, WALKED_COLUMNS_PER_TREE = 8, 20
MOST_PLANS = 4


class Stage(NamedTuple):
    """Some parts of a model."""

    parts: NDArray[np.int64]
    slots: NDArray[np.int32]  # of the columns that their trees ask for
    walked: bool  # walking over the rows as they are takes less time than bringing these columns together


class Stages(NamedTuple):
    """What a plan reads up to each of its checkpoints."""

    stages: list[Stage]
    walked: NDArray[np.bool_]


def stage_of(walks: Walks, parts: NDArray[np.integer], outputs: int) -> Stage:
    """Return some parts of trees that have so many each."""
    trees = np.unique(parts // outputs)
    asked = [walks.slot[walks.columns_of(tree)] for tree in trees.tolist()]
    slots = np.unique(np.concatenate([np.zeros(0, np.int32), *asked])).astype(np.int32)
    return Stage(parts.astype(np.int64), slots, are_walked(walks, slots.size, trees.size))


def are_walked(walks: Walks, n_columns: int, n_trees: int) -> bool:
    """Whether trees are walked over rows as they are, and not read from so many of their columns brought together."""
    return n_columns > n_trees * (WALKED_COLUMNS_PER_TREE if walks.scan is None else SCANNED_COLUMNS_PER_TREE)


def stages_of(walks: Walks) -> Callable[[Plan], Stages]:
    """Return what gives the stages of a plan, and keeps those of the plans that it met last."""

    @lru_cache(MOST_PLANS)
    def stages(order: bytes, checkpoints: tuple[int, ...]) -> Stages:
        parts = np.split(np.frombuffer(order, np.uint32), checkpoints)[: len(checkpoints)]
        made = [stage_of(walks, of_stage, walks.parts.shape[1]) for of_stage in parts]
        return Stages(made, np.array([stage.walked for stage in made], dtype=np.bool_))

    return per_plan(lambda plan: stages(plan.order.tobytes(), tuple(plan.checkpoints.tolist())))
