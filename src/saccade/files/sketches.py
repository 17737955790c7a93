"""Sketches of training rows in files."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.exceptions import ModelFileError
from saccade.files.archive import Archive
from saccade.learners.sketch import RowSketch

__all__ = ["sketch_from", "sketch_parts"]


def sketch_parts(sketch: RowSketch) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what the header and the arrays of a file have of a sketch."""
    arrays = {"sketch.priorities": sketch.priorities, "sketch.hashes": sketch.hashes}
    return {"training_rows": sketch.n_rows}, arrays


def sketch_from(archive: Archive) -> RowSketch:
    """Return the sketch of the training rows; older files have none."""
    if "training_rows" not in archive.header:
        return RowSketch()
    priorities = archive.array("sketch.priorities", np.uint64, (None,))
    n_rows = archive.field("training_rows", int)
    if not priorities.size <= n_rows < 2**63:
        raise ModelFileError(f"its field 'training_rows' is {n_rows}")
    return RowSketch(n_rows, priorities, archive.array("sketch.hashes", np.uint64, priorities.shape))
