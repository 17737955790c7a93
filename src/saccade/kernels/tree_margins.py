"""What a library makes of the margins that its trees add up to."""

import numpy as np

from saccade.kernels.compiling import kernel

SMALLEST = float(np.nextafter(0.0, 1.0))


@kernel
def keep_labels(margin, second_from):
    """Let the sign of margins, (rows, 1), say what the library does, which labels those from ``second_from`` second.

    The two differ next to zero alone, by what rounds to a probability of a half. In one call: few rows take less time
    than a dozen of NumPy's.
    """
    for i in range(margin.shape[0]):
        if second_from <= margin[i, 0] <= 0.0:
            margin[i, 0] = SMALLEST
        elif 0.0 < margin[i, 0] < second_from:
            margin[i, 0] = 0.0
