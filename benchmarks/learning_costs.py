"""What learning costs beside its passes: memory beyond the rows, and seconds of start-up."""

import json
import os
import subprocess
import sys
import tempfile
import tracemalloc
from statistics import median

import numpy as np
from mnist import load_mnist
from record import keep

from saccade import Pegasos

ROWS = 20_000
# Seconds asked at the most: the first fit with nothing compiled, each further storage, the first fit with all compiled.
FIRST, FURTHER, WARM = 6.0, 4.0, 1.0

IMPORT = """
import time
start = time.perf_counter()
import saccade
print(time.perf_counter() - start)
"""
# scikit-learn's own import does not count; that of numba does.
FITS = """
import json, time
import numpy as np, scipy.sparse as sp, sklearn.linear_model
X, y = np.random.default_rng(0).normal(size=(2000, 50)), np.arange(2000) % 2
storages = {
    "float64": X,
    "CSR": sp.csr_matrix(np.where(X > 1, X, 0)),
    "uint8": np.clip(40 * X + 128, 0, 255).astype(np.uint8),
    "float32": X.astype(np.float32),
}
for name, rows in storages.items():
    wall, cpu = time.perf_counter(), time.process_time()
    from saccade import Pegasos
    Pegasos(random_state=0).fit(rows, y)
    print(json.dumps([name, time.perf_counter() - wall, time.process_time() - cpu]))
"""


def memory():
    """Ten classes, 20,000 rows of 784 uint8 features: peak beyond the rows, by tracemalloc."""
    X, y, _, _ = load_mnist(None)
    X, y = X[:ROWS], y[:ROWS]
    print()
    for name, rows in (("by rows", np.ascontiguousarray(X)), ("by columns", np.asfortranarray(X))):
        Pegasos(max_iter=1, random_state=0).fit(rows, y)
        tracemalloc.start()
        Pegasos(random_state=0).fit(rows, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        unit = 10 * (X.shape[1] + ROWS)
        print(f"{name:12}{peak / 1e6:8.2f} MB, {peak / unit:.1f} bytes per class x (feature + row); ", end="")
        print(f"the rows are {X.nbytes / 1e6:.1f} MB")
        of = f"memory of fit beyond rows of {X.nbytes / 1e6:.1f} MB, ten classes, {name}"
        keep("learning", of, peak / 1e6, unit="MB")


def start_up():
    """In new processes, 2,000 rows of 50 features."""
    print()
    with tempfile.TemporaryDirectory() as folder:
        seconds = median(float(_run(IMPORT, folder)) for _ in range(5))
        print(f"import saccade: {1e3 * seconds:.1f} ms (asked 100)")
        keep("learning", "import saccade", 1e3 * seconds, unit="ms", at_most=100)
        for state, asked in (("empty", (FIRST, FURTHER)), ("warm", (WARM, WARM))):
            for k, line in enumerate(_run(FITS, folder).splitlines()):
                name, wall, cpu = json.loads(line)
                most = asked[min(k, 1)]
                verdict = "" if wall < most else ", MISSED"
                print(f"{state} cache, {name:8}{wall:7.2f} s wall, {cpu:6.2f} s CPU (asked under {most:g}{verdict})")
                keep("learning", f"first fit of a process, {state} cache: {name}", wall, unit="s", at_most=most)


def _run(script, cache):
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    return done.stdout
