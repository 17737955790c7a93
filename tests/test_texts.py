"""Texts in Arrow's memory are looked up as a dict looks them up."""

import numpy as np
import pyarrow as pa
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.reading.texts import KnownTexts, texts_of

# Few letters, and a zero byte, so that texts differ in a byte at either end, in the middle, or in length alone.
TEXTS = st.text("ab\0é", max_size=40)


@settings(max_examples=examples(1000), deadline=None)
@given(
    known=st.lists(TEXTS, unique=True, max_size=12),
    held=st.lists(st.none() | TEXTS, min_size=1, max_size=30),
    kind=st.sampled_from([pa.string(), pa.large_string()]),
    data=st.data(),
)
def test_codes_are_those_of_a_dict(known, held, kind, data):
    values = [*held, *known]
    code = {text: k for k, text in enumerate(known)}
    expected = [len(known) + 1 if value is None else code.get(value, len(known)) for value in values]
    start = data.draw(st.integers(0, len(values)))
    rows = np.array(data.draw(st.lists(st.integers(0, max(len(values) - start - 1, 0)))), dtype=np.uint32)
    if start == len(values):
        rows = rows[:0]
    whole = pa.array(values, kind)
    chunks = pa.chunked_array([whole[:start], whole[start:]], kind)
    looked_up = KnownTexts(known)
    for array, first in ((whole[start:], start), (whole, 0), (chunks, 0)):
        found = texts_of(array).codes(looked_up, rows)
        assert found.tolist() == [expected[first + row] for row in rows.tolist()]


def test_texts_that_share_their_ends_and_their_middle_are_told_apart():
    texts = [f"{'x' * 20}{k:03}{'y' * 20}{'z' * 30}" for k in range(500)]
    found = texts_of(pa.array(texts)).codes(KnownTexts(texts[::2]), np.arange(500, dtype=np.uint32))
    assert found[::2].tolist() == list(range(250))
    assert (found[1::2] == 250).all()


def test_other_arrays_are_not_taken_for_texts():
    assert texts_of(pa.array([1, 2])) is None
    assert texts_of(pa.array(["a"]).dictionary_encode()) is None
    assert texts_of(pa.chunked_array([], pa.string())).codes(KnownTexts([]), np.zeros(0, np.uint32)).size == 0
