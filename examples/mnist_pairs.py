"""Learn one pair of MNIST digits in full, by the paper's Algorithm 1, and attentively; print what was read and lost."""

from time import perf_counter

import numpy as np

from saccade import ConstantSTST, Full, Pegasos
from saccade.datasets import load_mnist

PAIRS = [(2, 3), (3, 0), (4, 9)]
LEARNERS = {
    "full": Pegasos(boundary=Full(), max_iter=5, random_state=0),
    "paper": Pegasos(boundary=ConstantSTST(0.1), rule="algorithm1", audit=0, average=False, random_state=0),
    "attentive": Pegasos(max_iter=5, random_state=0),
}

COLUMNS = "{:8}  {:10} {:>12} {:>12} {:>12} {:>12} {:>9}"


def main() -> None:
    print(COLUMNS.format("digits", "learner", "learned from", "error, full", "error, stop", "predicted by", "decision"))
    print(COLUMNS.format("", "", "features", "%", "%", "features", "error"))
    for pair in PAIRS:
        X, y, X_test, y_test = load_mnist(pair)
        X, X_test = X / np.float32(255), X_test / np.float32(255)
        for name, learner in LEARNERS.items():
            learner.fit(X, y)
            reading = learner.read(X_test)
            full_label = learner.classes_[(learner.full_margin(X_test) > 0).astype(int)]
            print(
                COLUMNS.format(
                    f"{pair[0]} vs {pair[1]}",
                    name,
                    f"{learner.training_.features_per_example:.0f} of 784",
                    f"{100 * np.mean(full_label != y_test):.2f}",
                    f"{100 * np.mean(reading.label != y_test):.2f}",
                    f"{reading.n_read.mean():.0f} of 784",
                    f"{learner.training_.decision_error:.1%}" if learner.training_.n_important else "-",
                )
            )


if __name__ == "__main__":
    start = perf_counter()
    main()
    print(f"\n{perf_counter() - start:.0f} s, compilation included.")
