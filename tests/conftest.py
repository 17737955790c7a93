"""What several test files share: one small run of all experiments."""

import pytest
from hypothesis import settings

from saccade.study.experiments.reproduction import Size, run_all

# The first call of a kernel compiles it.
settings.register_profile("compiling", deadline=None)
settings.load_profile("compiling")

TINY = Size(permutations=1, walks=100, lengths=(64, 256, 1024), longest=13)


@pytest.fixture(scope="session")
def found():
    """All experiments at their smallest, on MNIST itself."""
    return run_all(seed=1, size=TINY, jobs=2, progress=lambda: None)
