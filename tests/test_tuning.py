"""Which labels would change at which thresholds: against stopping row by row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.planning import changes as counting
from saccade.planning.changes import Changes
from saccade.planning.tuning import Z_GRID


def drawn(seed, n_classes, rows=60, checkpoints=5):
    """Return the labels that checkpoints would decide for, what they cost, and how clear they are."""
    rng = np.random.default_rng(seed)
    full = rng.integers(0, n_classes, rows)
    label = np.where(rng.random((rows, checkpoints)) < 0.5, full[:, None], rng.integers(0, n_classes, (rows, 1)))
    loss = np.where(label != full[:, None], rng.choice([-1, 0, 1], (rows, checkpoints)), 0).astype(np.int8)
    entry = ((loss < 0) * n_classes + full[:, None]) * n_classes + label
    return Changes(loss, entry, n_classes), full, label, 3 * rng.exponential(size=(rows, checkpoints))


def stopped_row_by_row(changes, full, label, reached, z):
    changed = np.zeros((2, changes.n_classes, changes.n_classes))
    for row in range(len(full)):
        for k in range(reached.shape[1]):
            if reached[row, k] >= z:
                if changes.loss[row, k]:
                    changed[int(changes.loss[row, k] < 0), full[row], label[row, k]] += 1
                break
    return changed / len(full)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), n_classes=st.sampled_from([2, 3, 5]), tabled=st.booleans())
def test_changes_are_those_of_rows_that_stop_at_the_first_clear_checkpoint(seed, n_classes, tabled):
    changes, full, label, reached = drawn(seed, n_classes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "MOST_IN_TABLE", 32 if tabled else 0)
        curves = changes.by_threshold(reached, np.arange(5), Z_GRID)
    for step in range(0, Z_GRID.size, 3):
        expected = stopped_row_by_row(changes, full, label, reached, Z_GRID[step])
        np.testing.assert_allclose(curves.at(np.full(n_classes, step)), expected, atol=1e-12)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_many_classes_are_counted_as_few_are(seed):
    changes, _, _, reached = drawn(seed, 4)
    with pytest.MonkeyPatch.context() as patch:
        tabled = changes.by_threshold(reached, np.arange(5), Z_GRID)
        patch.setattr(counting, "MOST_IN_TABLE", 0)
        listed = changes.by_threshold(reached, np.arange(5), Z_GRID)
    steps = np.random.default_rng(seed).integers(0, Z_GRID.size, 4)
    np.testing.assert_allclose(tabled.at(steps), listed.at(steps), atol=1e-12)
