"""From weights and moments to what a boundary demands of a walk, for both classes and all checkpoints."""

import math

import numpy as np

from saccade.kernels.compiling import inlined, internal, loop
from saccade.kernels.state import (
    EXPECTED_0,
    EXPECTED_1,
    REST_SQUARED_WEIGHTS,
    SAMPLED,
    SCALE,
    TOTAL_VARIANCE,
    WIDTH_0,
)

# The audit's moments say nothing before this many examples of a class; until then its walks are not stopped.
FEWEST_EXAMPLES = 8
# However well a partial margin predicts the full one, this share of its independent variance stays open.
LEAST_UNEXPLAINED = 1e-3


@inlined
def centre(walk, settings):
    """What is expected of an unread feature of each class: its mean, or zero where the boundary ignores means."""
    return walk.mean if settings.law.centred else walk.neutral


@inlined
def dispersion_of(walk, settings):
    """What the squared weights of unread features count with: their variance, or one."""
    return walk.neutral if settings.law.grows_with == REST_SQUARED_WEIGHTS else walk.var


@loop
def expected_margins(weights, means):
    kind = weights.dtype.type
    e0, e1 = kind(0), kind(0)
    for j in range(weights.shape[0]):
        e0 += weights[j] * means[0, j]
        e1 += weights[j] * means[1, j]
    return e0, e1


@inlined
def set_expected(state, walk, settings):
    """Recompute the margin that is expected of an example of each class before anything is read."""
    state.scalars[EXPECTED_0], state.scalars[EXPECTED_1] = expected_margins(state.weights, centre(walk, settings))


@loop
def variances(weights, dispersion):
    """Return the variance of the unscaled margin in both classes, the features taken as independent."""
    kind = weights.dtype.type
    q0, q1 = kind(0), kind(0)
    for j in range(weights.shape[0]):
        q0 += weights[j] * weights[j] * dispersion[0, j]
        q1 += weights[j] * weights[j] * dispersion[1, j]
    return q0, q1


@loop
def variances_of(features, weights, dispersion):
    """Like variances, of the given features alone."""
    kind = weights.dtype.type
    q0, q1 = kind(0), kind(0)
    for k in range(features.shape[0]):
        j = features[k]
        q0 += weights[j] * weights[j] * dispersion[0, j]
        q1 += weights[j] * weights[j] * dispersion[1, j]
    return q0, q1


@inlined
def put_cushion(walk, settings, scale, c, k, variance):
    """Store what a walk must exceed the threshold by, given the variance of the unscaled margin's unread rest."""
    if settings.fair and walk.counts[c, 0] < FEWEST_EXAMPLES:
        walk.cushion[c, k] = np.inf
    else:
        law = settings.law
        walk.cushion[c, k] = law.slope * math.sqrt(law.shift + scale * scale * max(variance, 0.0)) - law.offset


@inlined
def put_regression(scalars, walk, c, k):
    """Store how the full margin follows the partial one; return the share of its variance that is left unexplained."""
    near, cross = walk.partial_square[c, k], walk.partial_product[c, k]
    walk.slope[c, k] = cross / near if near > 0 else 1.0
    explained = cross * cross / near if near > 0 else 0.0
    return max(scalars[WIDTH_0 + c] ** 2 - explained, LEAST_UNEXPLAINED)


@internal
def set_cushions(state, walk, settings, checkpoints):
    """Recompute all cushions for the weights and moments as they are now."""
    grows_with = settings.law.grows_with
    n = state.weights.shape[0]
    scale = state.scalars[SCALE]
    dispersion = dispersion_of(walk, settings)
    q0, q1 = variances(state.weights, dispersion)
    done = 0
    for k in range(checkpoints.shape[0]):
        share0, share1 = 1.0, 1.0
        if settings.regress:
            share0, share1 = put_regression(state.scalars, walk, 0, k), put_regression(state.scalars, walk, 1, k)
        elif grows_with != TOTAL_VARIANCE:
            if settings.order >= SAMPLED:  # every draw is expected to add its n-th part
                share0 = share1 = 1.0 - checkpoints[k] / n
            else:
                a0, a1 = variances_of(walk.order[done : checkpoints[k]], state.weights, dispersion)
                q0, q1 = q0 - a0, q1 - a1
                done = checkpoints[k]
        put_cushion(walk, settings, scale, 0, k, share0 * q0)
        put_cushion(walk, settings, scale, 1, k, share1 * q1)
