"""The section in which a visitor draws a digit: what its scripts work with, and its words."""

import base64
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from saccade.reading.plan import Plan
from saccade.study.experiments.digits import N_PIXELS
from saccade.study.experiments.ten_digits import TenDigits

# In the order in which they are put together.
SCRIPTS = ("reader.js", "strokes.js", "pad.js", "walk.js", "watch.js", "tables.js")
# What the test digits to choose from are, ten of each.
KINDS = ("easy", "typical", "hard")
# The test digit that is read before anybody chooses one: a typical three.
BEGIN = 13


def content(ten: TenDigits) -> dict[str, Any]:
    """Return what the scripts need: the plan, and test digits to choose from."""
    return {
        "plan": packed_plan(ten.reader.plan),
        "images": packed(ten.reader.images, np.uint8),
        "labels": ten.reader.labels.tolist(),
        "kinds": KINDS,
        "begin": BEGIN,
    }


def packed_plan(plan: Plan) -> dict[str, str]:
    """Return a plan of several scores, with arrays as texts; the reader in ``scripts/reader.js`` unpacks them."""
    return {
        "order": packed(plan.order, np.uint32),
        "checkpoints": packed(plan.checkpoints, np.uint32),
        "first": packed(plan.first, np.uint32),
        "begins": packed(plan.begins, np.uint32),
        "weights": packed(plan.weights, np.float32),
        "shift": packed(plan.shift, np.float64),
        "upper": packed(plan.upper, np.float64),
        "coef": packed(plan.coef, np.float32),
        "intercept": packed(plan.intercept, np.float64),
    }


def packed(array: ArrayLike, dtype: DTypeLike) -> str:
    """Return an array's bytes, the lowest first, as base64."""
    content = np.asarray(array, dtype=np.dtype(dtype).newbyteorder("<"))
    return base64.b64encode(content.tobytes()).decode()


def words(ten: TenDigits) -> str:
    """Say how well the reader does, and what is promised of it."""
    full, stopped = 100 - ten.score.error_full, 100 - ten.score.error_stopped
    return (
        f"Of 10,000 test digits it reads {ten.score.features_predicted:.0f} of {N_PIXELS} pixels on average; "
        f"{ten.changed:.1f} % get another label than from all pixels, and {stopped:.1f} % the right one, where all "
        f"pixels give {full:.1f} %. It is planned so that at most {100 * ten.delta:.0f} % of any digit's images change "
        "their label. That is a promise about images like MNIST's; a drawing is made like them, but comes from "
        "elsewhere. All images, the drawing too, are set upright before they are read: their ink is centred, as MNIST "
        "has it, and sheared until it does not lean."
    )
