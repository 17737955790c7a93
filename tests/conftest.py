"""What several test files share: one small run of all experiments."""

import pytest

from saccade.study.experiments.reproduction import Size, run_all

TINY = Size(permutations=1, walks=100, lengths=(64, 256, 1024), longest=13)


@pytest.fixture(scope="session")
def reproduction():
    """All experiments at their smallest, on MNIST itself."""
    return run_all(seed=1, size=TINY, jobs=2, progress=lambda: None)
