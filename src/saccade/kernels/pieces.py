"""Polynomials in pieces, evaluated for many numbers."""

import math

from saccade.kernels.compiling import kernel


@kernel
def evaluate_pieces(values, edges, origin, coefficients, missing, out):
    """Write the value of each score, (values, scores); an infinite number has none."""
    degree = coefficients.shape[2] - 1
    for i in range(values.shape[0]):
        x = values[i]
        if not math.isfinite(x):
            for k in range(out.shape[1]):
                out[i, k] = missing[k] if math.isnan(x) else math.nan
            continue
        low, high = 0, edges.shape[0]
        while low < high:
            middle = (low + high) // 2
            if edges[middle] <= x:
                low = middle + 1
            else:
                high = middle
        u = x - origin[low]
        for k in range(out.shape[1]):
            total = coefficients[low, k, degree]
            for d in range(degree - 1, -1, -1):
                total = total * u + coefficients[low, k, d]
            out[i, k] = total
