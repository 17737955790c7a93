"""Learning from files in standardised columns: the learner takes rows as they are, and stops where it would have."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file, load_breast_cancer
from sklearn.preprocessing import StandardScaler

import saccade
from data import correlated
from saccade import Budget, ConstantSTST, CurvedSTST, Full, PassiveAggressive, Pegasos, Perceptron
from saccade.data.moments import ColumnMoments
from saccade.exceptions import ModelFileError
from saccade.files.archive import read_archive, write_archive
from saccade.learners.scaling import Scaling

N_FEATURES = 40
ROWS, LABELS = correlated(1500, N_FEATURES, seed=11, separation=2.5)
RNG = np.random.default_rng(3)
UNIT = 10.0 ** RNG.uniform(-4, 4, N_FEATURES)
CENTRE = RNG.normal(size=N_FEATURES) * UNIT * 3
RAW = ROWS * UNIT + CENTRE


@pytest.mark.parametrize(
    ("learner", "labels"),
    [
        (Pegasos(random_state=0), LABELS),
        (Pegasos(random_state=0, average=False, order="natural"), LABELS),
        (Pegasos(random_state=0, fit_intercept=False, boundary=ConstantSTST(0.1)), LABELS),
        (Pegasos(random_state=0, order="permuted", boundary=CurvedSTST(0.1, tail="hoeffding")), LABELS),
        (Pegasos(random_state=0, order="sampled"), LABELS),
        (Pegasos(random_state=0, order="permuted", boundary=Budget(9)), LABELS),
        (Perceptron(random_state=0), LABELS),
        (PassiveAggressive(random_state=0, boundary=Full()), LABELS),
        (Pegasos(random_state=0, max_iter=2), np.digitize(ROWS[:, 0] + LABELS, [0, 1])),
    ],
)
def test_a_learner_of_scaled_rows_reads_raw_rows_as_one_reads_scaled_rows(learner, labels):
    scaling = Scaling(CENTRE, UNIT)
    classes = np.unique(labels)
    plain = clone(learner).partial_fit(scaling.apply(RAW), labels, classes=classes)
    folded = clone(learner)
    folded._scaling = scaling
    folded.partial_fit(RAW, labels, classes=classes)
    assert plain.training_ == folded.training_
    here, there = folded.read(RAW), plain.read(scaling.apply(RAW))
    np.testing.assert_array_equal(here.n_read, there.n_read)
    np.testing.assert_array_equal(here.label, there.label)
    np.testing.assert_allclose(here.margin, there.margin, atol=1e-8)
    np.testing.assert_allclose(folded.full_margin(RAW), plain.full_margin(scaling.apply(RAW)), atol=1e-8)
    np.testing.assert_allclose(folded.variances_, plain.variances_ * (UNIT**2)[: plain.variances_.shape[2]])
    scores = RAW @ folded.coef_.T + folded.intercept_
    np.testing.assert_allclose(scores.squeeze(), folded.full_margin(RAW), atol=1e-8)


def test_going_on_after_learning_takes_raw_rows_too_in_the_same_scales(tmp_path):
    scaling = Scaling(CENTRE, UNIT)
    plain, folded = Pegasos(random_state=0), Pegasos(random_state=0)
    folded._scaling = scaling
    for part in (slice(0, 700), slice(700, None)):
        plain.partial_fit(scaling.apply(RAW[part]), LABELS[part], classes=[0, 1])
        folded.partial_fit(RAW[part], LABELS[part], classes=[0, 1])
        saccade.save(folded, tmp_path / "m")
        folded = saccade.load(tmp_path / "m")
    np.testing.assert_array_equal(plain._learners[0].state.weights, folded._learners[0].state.weights)
    folded.fit(ROWS, LABELS)  # anew: of the scales nothing is left
    np.testing.assert_array_equal(folded.coef_, Pegasos(random_state=0).fit(ROWS, LABELS).coef_)


@pytest.mark.parametrize("centre", [0.0, 1.0])
def test_sparse_rows_stay_sparse_unless_they_are_centred(centre):
    rows = sp.csr_array(np.where(RNG.random((30, 5)) < 0.5, RNG.normal(size=(30, 5)), 0.0))
    scaling = Scaling(np.full(5, centre), np.arange(1.0, 6.0))
    scaled = scaling.apply(rows)
    assert sp.issparse(scaled) == (centre == 0)
    np.testing.assert_allclose(
        scaled.toarray() if centre == 0 else scaled, (rows.toarray() - centre) / np.arange(1.0, 6.0)
    )
    assert scaling.apply(rows.astype(np.float32)).dtype == np.float32


@given(st.integers(0, 10**6), st.floats(-1e9, 1e9), st.floats(1e-3, 1e6), st.lists(st.integers(1, 50), min_size=1))
@settings(max_examples=50, deadline=None)
def test_moments_gathered_by_batches_are_those_of_all_rows(seed, centre, unit, sizes):
    rows = np.random.default_rng(seed).normal(size=(sum(sizes), 3)) * unit + centre
    moments = ColumnMoments(3)
    for part in np.split(rows, np.cumsum(sizes)[:-1]):
        moments.add(part)
    scaling, peer = moments.scaling(centred=True), StandardScaler().fit(rows)
    np.testing.assert_allclose(scaling.centre, peer.mean_, rtol=1e-9, atol=1e-9 * unit)
    if len(rows) > 2 and abs(centre) < 1e6 * unit:
        np.testing.assert_allclose(scaling.unit, peer.scale_, rtol=1e-6)


def test_constant_columns_and_those_beyond_numbers_keep_their_units():
    rows = np.column_stack([np.full(50, 0.1), np.full(50, 1e9), np.zeros(50), np.linspace(-1, 1, 50) * 1e300])
    moments = ColumnMoments(4)
    for part in np.split(rows, 5):
        moments.add(part)
    scaling = moments.scaling(centred=True)
    np.testing.assert_array_equal(scaling.unit, 1.0)
    np.testing.assert_allclose(scaling.centre[:3], [0.1, 1e9, 0])
    assert np.isfinite(moments.scaling(centred=False).unit).all()


def test_sparse_columns_get_a_root_mean_square_of_one_over_stored_values():
    rows = np.array([[0, 3.0, 0], [0, -4.0, 1], [0, 0, 0], [0, 0, 0]])
    moments = ColumnMoments(3)
    for part in (rows[:1], rows[1:]):
        moments.add(sp.csr_array(part))
    scaling = moments.scaling(centred=True)
    np.testing.assert_array_equal(scaling.centre, 0)
    np.testing.assert_allclose(scaling.unit, [1, np.sqrt(12.5), 1])


@pytest.mark.filterwarnings("ignore:Features differ in scale")
@pytest.mark.parametrize("suffix", ["csv", "npy", "svm"])
def test_learning_from_a_file_is_learning_from_standardised_rows(suffix, tmp_path):
    path = tmp_path / f"a.{suffix}"
    target = "kind"
    match suffix:
        case "csv":
            pd.DataFrame(RAW).add_prefix("f").assign(kind=LABELS).to_csv(path, index=False)
        case "npy":
            np.save(path, np.column_stack([RAW, LABELS]))
            target = str(N_FEATURES)
        case "svm":
            dump_svmlight_file(RAW, LABELS, str(path), zero_based=False)
            target = None
    model = saccade.learn(Pegasos(max_iter=3, cost="features", random_state=0, shuffle=False), path, target=target)
    if suffix == "svm":
        moments = ColumnMoments(N_FEATURES)
        moments.add(sp.csr_array(RAW))
        scaled = sp.csr_array(moments.scaling(centred=True).apply(RAW))
    else:
        scaled = StandardScaler().fit_transform(RAW)
    peer = Pegasos(cost="features", random_state=0)
    for _ in range(3):
        peer.partial_fit(scaled, LABELS, classes=[0, 1])
    margins = RAW @ model.coef_[0] + model.intercept_
    assert np.mean(np.isclose(margins, peer.full_margin(scaled), atol=1e-6)) > 0.95
    raw = saccade.learn(
        Pegasos(max_iter=3, cost="features", random_state=0, shuffle=False), path, target=target, scale=False
    )
    np.testing.assert_allclose(raw.coef_, _unscaled(target, RAW), rtol=1e-9)


def _unscaled(target, rows):
    peer = Pegasos(cost="features", random_state=0)
    for _ in range(3):
        peer.partial_fit(sp.csr_array(rows) if target is None else rows, LABELS, classes=[0, 1])
    return peer.coef_


def test_a_constant_column_gets_no_weight(tmp_path):
    np.save(tmp_path / "a.npy", np.column_stack([np.full(1500, 1e5), RAW, LABELS]))
    model = saccade.learn(Pegasos(random_state=0), tmp_path / "a.npy", target="-1")
    assert model.coef_[0, 0] == 0
    assert np.isfinite(model.coef_).all()
    assert model.score(np.column_stack([np.full(1500, 1e5), RAW]), LABELS) > 0.8


@pytest.mark.filterwarnings("ignore:Features differ in scale")
def test_columns_of_very_different_scales_are_learned(tmp_path):
    rows, labels = load_breast_cancer(return_X_y=True)
    pd.DataFrame(rows).add_prefix("f").assign(kind=labels).to_csv(tmp_path / "a.csv", index=False)
    with_scales, without = (
        saccade.learn(Pegasos(max_iter=5, random_state=0), tmp_path / "a.csv", target="kind", scale=scale)
        for scale in (True, False)
    )
    frame = pd.DataFrame(rows).add_prefix("f")
    assert with_scales.score(frame, labels) > 0.95
    assert with_scales.score(frame, labels) > without.score(frame, labels)


def test_a_file_with_impossible_scales_is_refused(tmp_path):
    model = Pegasos(random_state=0)
    model._scaling = Scaling(CENTRE, UNIT)
    saccade.save(model.partial_fit(RAW, LABELS, classes=[0, 1]), tmp_path / "m")
    archive = read_archive(tmp_path / "m")
    for unit in (np.zeros(N_FEATURES), np.ones(3)):
        header = {name: value for name, value in archive.header.items() if name != "sha256"}
        write_archive(tmp_path / "bad", header, {**archive.arrays, "scaling.unit": unit})
        with pytest.raises(ModelFileError, match="scaling"):
            saccade.load(Path(tmp_path / "bad"))
