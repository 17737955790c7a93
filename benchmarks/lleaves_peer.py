"""lleaves beside us, in an environment of its own: it needs an older llvmlite than numba does.

Run by ``trees.py``: compiles a LightGBM text file, and then answers every line on standard input with the seconds that
one call took.
"""

import sys
from time import perf_counter

import lleaves
import numpy as np


def main(model_file, rows_file):
    rows = np.load(rows_file)
    model = lleaves.Model(model_file=model_file)
    start = perf_counter()
    model.compile()
    print(perf_counter() - start, flush=True)
    for _ in sys.stdin:
        start = perf_counter()
        model.predict(rows, n_jobs=1)
        print(perf_counter() - start, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
