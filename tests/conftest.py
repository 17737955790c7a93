"""What several test files share: one small run of all experiments, and how hypothesis is run."""

import pytest
from hypothesis import settings

from saccade.study.experiments.reproduction import Size, run_all

# Nothing is timed against a clock: an example that compiles a kernel, or waits for another process, takes seconds.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

TINY = Size(permutations=1, walks=100, lengths=(64, 256, 1024), longest=13)


@pytest.fixture(scope="session")
def reproduction():
    """All experiments at their smallest, on MNIST itself."""
    return run_all(seed=1, size=TINY, jobs=2, progress=lambda: None)
