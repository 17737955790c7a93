"""Small kernels against what they approximate."""

import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core import event
from numba.core.errors import TypingError
from scipy.stats import kstest, norm

from saccade.kernels.audit import upper_quantile
from saccade.kernels.compiling import kernel
from saccade.kernels.hashing import uniform


@kernel
def quantile(share):
    return upper_quantile(share)


@given(st.floats(1e-12, 0.5))
def test_the_normal_quantile_is_scipys(share):
    assert abs(quantile(share) - norm.isf(share)) < 1e-5


def test_uniform_numbers_are_uniform_and_streams_differ():
    drawn = {stream: np.array([uniform(7, stream, t) for t in range(5000)]) for stream in (0, 1)}
    for numbers in drawn.values():
        assert kstest(numbers, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(drawn[0], drawn[1])[0, 1]) < 5 / np.sqrt(5000)
    assert abs(np.corrcoef(drawn[0][1:], drawn[0][:-1])[0, 1]) < 5 / np.sqrt(5000)


def test_numba_is_not_interrupted_by_the_search_for_garbage_which_then_goes_on_even_where_it_fails():
    def fails(number):
        return number.nowhere

    enabled = []

    class Listener(event.Listener):
        def on_start(self, _):
            enabled.append(gc.isenabled())

        def on_end(self, _): ...

    with event.install_listener("numba:compile", Listener()):
        assert kernel(lambda number: number + 1)(1) == 2
        assert gc.isenabled()
        with pytest.raises(TypingError):
            kernel(fails)(1)
        assert gc.isenabled()
    assert enabled
    assert not any(enabled)
