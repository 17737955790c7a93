"""``fit_files``: the same as ``partial_fit`` over the batches of files."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.datasets import dump_svmlight_file
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PowerTransformer, StandardScaler

import saccade
from data import census, correlated
from saccade import Pegasos, Perceptron, fit_files
from saccade.exceptions import DataFileError
from saccade.io import batches

X, kinds = correlated(900, 10, seed=5, separation=3.0, classes=3)
KINDS = np.array(["ash", "elm", "oak"])[kinds]
NAMES = [f"f{j}" for j in range(10)]
FRAME = pd.DataFrame(X, columns=NAMES).assign(kind=KINDS)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(batches, "BATCH_ROWS", 128)
    monkeypatch.setattr(batches, "LIBSVM_LINES", 128)


def in_order(**options):
    return Pegasos(shuffle=False, random_state=0, **options)


def written(frame, folder, suffix):
    """Write three files; those of Parquet have the index of the frame, which is no feature."""
    folder.mkdir(exist_ok=True)
    for k, part in enumerate(np.array_split(np.arange(len(frame)), 3)):
        path, rows = folder / f"part-{k}{suffix}", frame.iloc[part].set_axis(part[::-1])
        match suffix:
            case ".csv" | ".csv.gz":
                rows.to_csv(path, index=False)
            case ".parquet":
                rows.to_parquet(path)
            case ".arrow":
                pyarrow.feather.write_feather(pa.Table.from_pandas(rows, preserve_index=False), path)
    return folder


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv", ".csv.gz"])
def test_files_give_the_model_of_partial_fit(suffix, tmp_path):
    folder = written(FRAME, tmp_path / "in", suffix)
    model = fit_files(in_order(), folder, target="kind", passes=2)
    expected = in_order()
    for _ in range(2):
        expected.partial_fit(FRAME[NAMES], KINDS, classes=["ash", "elm", "oak"])
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    assert model.classes_.tolist() == ["ash", "elm", "oak"]
    assert model.feature_names_in_.tolist() == NAMES
    known = fit_files(in_order(), folder, target="kind", passes=2, classes=["oak", "elm", "ash"])
    np.testing.assert_array_equal(known.coef_, model.coef_)


@pytest.mark.parametrize("zero_based", [True, False])
def test_libsvm_files_of_different_widths(zero_based, tmp_path):
    rows = np.where(np.abs(X) > 0.5, X, 0.0)
    rows[:300, 7:] = 0.0
    for k in range(3):
        part = slice(300 * k, 300 * k + 300)
        dump_svmlight_file(rows[part], kinds[part], str(tmp_path / f"{k}.svm"), zero_based=zero_based)
    format = "libsvm-zero-based" if zero_based else None
    model = fit_files(in_order(), tmp_path, target=None, format=format)
    expected = in_order().partial_fit(sp.csr_matrix(rows), kinds.astype(float), classes=[0.0, 1.0, 2.0])
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    with pytest.raises(DataFileError, match="labels come first: leave target out"):
        fit_files(in_order(), tmp_path, target="kind")


def test_numpy_files_have_labels_in_a_column(tmp_path):
    np.save(tmp_path / "rows.npy", np.column_stack([kinds > 0, X]).astype(float))
    model = fit_files(in_order(), tmp_path / "rows.npy", target=0)
    expected = in_order().partial_fit(X, (kinds > 0).astype(float), classes=[0.0, 1.0])
    np.testing.assert_array_equal(model.coef_, expected.coef_)


def test_rows_of_a_batch_are_shuffled_by_the_seed(tmp_path):
    folder = written(FRAME.sort_values("kind"), tmp_path / "in", ".parquet")
    one, again, other = (fit_files(Perceptron(random_state=s), folder, target="kind", passes=2) for s in (0, 0, 1))
    np.testing.assert_array_equal(one.coef_, again.coef_)
    assert not np.array_equal(one.coef_, other.coef_)
    assert not np.array_equal(one.coef_, fit_files(Perceptron(shuffle=False), folder, target="kind", passes=2).coef_)


def test_a_pipeline_encodes_texts_and_is_certified(tmp_path):
    frame = census(4000)
    folder = written(frame[:3000], tmp_path / "in", ".csv")
    rest = frame[3000:].drop(columns="income")
    steps = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["state", "work", "size"]), ("passthrough", ["hours"])
    ).fit(frame[:500].drop(columns="income"))
    model = fit_files(
        make_pipeline(steps, StandardScaler(with_mean=False), Pegasos(random_state=0)), folder, target="income"
    )
    assert model.score(rest, frame["income"][3000:]) > 0.65
    attentive = saccade.attend(model, rest, delta=0.2, promise="rows", random_state=0)
    done = saccade.predict_files(attentive, folder, tmp_path / "out")
    assert done.n_rows == 3000


def test_a_scaler_is_fitted_to_all_files_first(tmp_path):
    folder = written(FRAME.assign(f3=1000 * FRAME.f3), tmp_path / "in", ".parquet")
    scaler = StandardScaler()
    fit_files(make_pipeline(scaler, Pegasos(random_state=0)), folder, target="kind")
    np.testing.assert_allclose(scaler.mean_, StandardScaler().fit(FRAME[NAMES].assign(f3=1000 * FRAME.f3)).mean_)
    fitted = StandardScaler().fit(FRAME[NAMES][:10])
    fit_files(make_pipeline(fitted, Pegasos(random_state=0)), folder, target="kind")
    np.testing.assert_array_equal(fitted.mean_, FRAME[NAMES][:10].mean())


def test_a_step_that_cannot_be_fitted_to_files_must_be_fitted_before(tmp_path):
    folder = written(FRAME, tmp_path / "in", ".parquet")
    with pytest.raises(ValueError, match=r"PowerTransformer is not fitted, and has no partial_fit.*sample"):
        fit_files(make_pipeline(PowerTransformer(), Pegasos()), folder, target="kind")
    with pytest.raises(TypeError, match="ends in one; got LogisticRegression"):
        fit_files(LogisticRegression(), folder, target="kind")


def test_bad_rows_are_an_error_or_left_out(tmp_path):
    frame = FRAME[:300].astype(object)
    frame.iloc[10, 2], frame.iloc[20, 10] = "wide", None
    frame.to_csv(tmp_path / "rows.csv", index=False)
    with open(tmp_path / "rows.csv", "a") as file:
        file.write("1,2\n")
    with pytest.raises(DataFileError, match=r"rows\.csv cannot be read.*skip_bad=True"):
        fit_files(in_order(), tmp_path / "rows.csv", target="kind")
    model = fit_files(in_order(), tmp_path / "rows.csv", target="kind", skip_bad=True)
    good = np.setdiff1d(np.arange(300), [10, 20])
    expected = in_order().partial_fit(FRAME[NAMES].iloc[good], KINDS[good], classes=["ash", "elm", "oak"])
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    frame.drop(index=10).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(DataFileError, match=r"rows\.parquet cannot be read: row 19 has no label"):
        fit_files(in_order(), tmp_path / "rows.parquet", target="kind")


def test_whole_numbers_may_become_fractions_later_in_a_csv_file(tmp_path):
    """Arrow infers types from the first block of a file."""
    column = np.where(np.arange(200_000) < 199_000, np.arange(200_000) % 7, 0.5)
    pd.DataFrame({"x": column, "kind": (column > 3).astype(int)}).to_csv(
        tmp_path / "rows.csv", index=False, float_format="%g"
    )
    assert fit_files(in_order(), tmp_path / "rows.csv", target="kind").classes_.tolist() == [0, 1]


def test_a_wrong_target_is_named(tmp_path):
    folder = written(FRAME, tmp_path / "in", ".csv")
    with pytest.raises(DataFileError, match=r"part-0\.csv has no column 'kinds'. Did you mean kind\?"):
        fit_files(in_order(), folder, target="kinds")
    with pytest.raises(DataFileError, match=r"Name the column of .* with the labels"):
        fit_files(in_order(), folder, target=None)
