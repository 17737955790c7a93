"""Golden results of version 0.2: the same model and rows must still give the same plans, labels and margins.

The files in ``tests/golden`` hold fitted models, rows and results. Results are compared bit for bit where the versions
of all libraries and the processor are those that recorded them, and within a tolerance elsewhere. After a change that
is meant to change results, record them again: ``python tests/test_golden.py [case ...]``.
"""

import importlib.metadata
import json
import platform
import sys
import warnings
from functools import cache
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import saccade

FOLDER = Path(__file__).parent / "golden"
LIBRARIES = (
    "catboost",
    "interpret-core",
    "lightgbm",
    "numba",
    "numpy",
    "pandas",
    "scikit-learn",
    "scipy",
    "xgboost-cpu",
)
N_FITTED, N_ATTENDED = 1500, 4500  # end of the rows that fit the model, and of those that certify; 500 report
PRICES = np.array([1, 5, 2, 8, 1, 1, 3, 2, 9, 4, 1, 6.0])
NAMES = [f"f{j}" for j in range(12)]
CITIES = [f"city {k}" for k in range(12)]
JOBS = ["clerk", "farmer", "nurse", "pilot"]


def numbers(classes):
    """Return rows of 12 numbers, which single precision holds, and labels."""
    from sklearn.datasets import make_classification

    X, y = make_classification(
        5000, 12, n_informative=8, n_classes=classes, class_sep=1.6, flip_y=0.01, random_state=classes
    )
    return X.astype(np.float32).astype(np.float64), y


def table():
    """Return a table with texts, categories, booleans and missing values, and labels."""
    rng = np.random.default_rng(0)
    n = 5000
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "income": rng.lognormal(3, 1, n).round(2),
            "city": rng.choice(CITIES, n),
            "job": rng.choice(JOBS, n, p=[0.4, 0.3, 0.2, 0.1]).astype(object),
            "visits": rng.integers(0, 6, n),
            "debt": rng.normal(size=n).round(3),
            "member": rng.random(n) < 0.3,
        }
    )
    score = (frame.age - 45) / 12 + 1.5 * frame.city.isin(CITIES[:5]) - 2 * (frame.job == "pilot") + frame.debt
    score += (frame.visits == 3) + 0.5 * frame.member + 0.3 * rng.normal(size=n) - 1.0
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.05, "job"] = None
    return frame, (score > 0).to_numpy().astype(int)


def coded(frame):
    """Return the table with categories in place of texts, as tree libraries take it."""
    return frame.assign(
        city=pd.Categorical(frame.city, CITIES),
        job=pd.Categorical(frame.job, JOBS),
        visits=frame.visits.astype(float),
        member=frame.member.astype(float),
    )


def counts():
    """Return CSR rows of word counts, and labels."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 5000)
    rate = rng.exponential(0.05, 300) * np.where(rng.random(300) < 0.3, 4.0, 1.0)
    X = rng.poisson(rate * np.where(y[:, None], rng.permutation(rate) / rate.mean(), 1.0).clip(0, 6))
    return sp.csr_array(X.astype(np.float64)), y


def digits():
    """Return bytes of 64 columns, and whether a digit is odd; the rows follow one another several times."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return np.tile(X.astype(np.uint8), (3, 1))[:5000], np.tile(y % 2, 3)[:5000]


def wide():
    """Return rows that are worth remembering over passes; too large to be saved."""
    from sklearn.datasets import make_classification

    X, y = make_classification(10_500, 60, n_informative=30, class_sep=1.5, random_state=0)
    return X.astype(np.float32), y


def make_rows():
    """Return all rows and labels by name."""
    (two, y_two), (four, y_four), (frame, y_table), (words, y_words) = numbers(2), numbers(4), table(), counts()
    return {
        "two": (two, y_two),
        "four": (four, y_four),
        "named": (pd.DataFrame(two, columns=NAMES), y_two),
        "rare": (two, ((two[:, 2] + two[:, 5] + y_two) > 5.2).astype(int)),
        "gaps": (np.where(np.random.default_rng(2).random(two.shape) < 0.1, np.nan, two), y_two),
        "table": (frame, y_table),
        "table, texts": (
            frame.assign(job=frame.job.fillna("none"), age=frame.age.fillna(40.0)),
            np.where(y_table, "yes", "no"),
        ),
        "table, three": (frame, np.array(["low", "middle", "high"])[y_table + (frame.income > 30).to_numpy()]),
        "codes": (coded(frame), y_table),
        "small counts": ((np.abs(two).round() % 4).astype(np.int64), y_two),
        "counts": (words, y_words),
        "digits": digits(),
    }


def linear_pipeline(final, *, scale_after=False):
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, SplineTransformer, StandardScaler

    steps = ColumnTransformer(
        [
            ("number", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["age", "debt"]),
            ("bins", KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf"), ["income"]),
            ("curve", SplineTransformer(4), ["visits"]),
            ("texts", OneHotEncoder(handle_unknown="ignore"), ["city", "job"]),
            ("rest", "passthrough", ["member"]),
        ]
    )
    return make_pipeline(steps, final)


def makers():
    """Return for each case: the rows' name, an unfitted model, the parameters of ``attend``."""
    import catboost
    import lightgbm as lgb
    import xgboost as xgb
    from interpret.glassbox import ExplainableBoostingClassifier
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.compose import ColumnTransformer
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.ensemble import (
        AdaBoostClassifier,
        ExtraTreesClassifier,
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
    from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures, StandardScaler
    from sklearn.svm import LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    light = {"n_estimators": 60, "num_leaves": 12, "learning_rate": 0.15, "verbose": -1, "n_jobs": 1}
    extreme = {"n_estimators": 60, "max_depth": 4, "learning_rate": 0.2, "n_jobs": 1}
    cat = {
        "iterations": 60,
        "depth": 4,
        "learning_rate": 0.2,
        "verbose": False,
        "thread_count": 1,
        "allow_writing_files": False,
    }
    logistic = LogisticRegression(max_iter=500)
    ordinal = ColumnTransformer(
        [
            (
                "texts",
                OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=99, min_frequency=5),
                ["city", "job"],
            ),
            ("pairs", make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False)), ["income", "debt"]),
        ]
    )
    columns = {"delta": 0.05, "minimize": "columns"}
    return {
        "logistic": ("two", logistic, {}),
        "logistic, four classes": ("four", logistic, {"delta": 0.05}),
        "logistic, rows": ("two", logistic, {"promise": "rows"}),
        "logistic, accuracy": ("two", logistic, {"promise": "accuracy", "delta": 0.02}),
        "logistic, levels": ("two", logistic, {"delta": {0: 0.03, 1: 0.08}}),
        "logistic, rare": ("rare", logistic, {"delta": {0: 0.02, 1: 0.2}}),
        "logistic, costs": ("named", logistic, {"delta": 0.05, "costs": PRICES}),
        "logistic, groups": (
            "named",
            logistic,
            {"delta": 0.05, "groups": {"a": NAMES[:3], "b": NAMES[7:9]}, "costs": {"a": 3.0}},
        ),
        "logistic, budget": ("two", logistic, {"budget": 4.0}),
        "logistic, columns": ("named", logistic, columns),
        "logistic, threshold": ("two", logistic, {"delta": 0.05, "threshold": 0.2}),
        "logistic, curved": ("two", logistic, {"delta": 0.05, "boundary": "curved", "order": "sorted"}),
        "logistic, constant": ("two", logistic, {"delta": 0.1, "boundary": "constant", "order": "permuted"}),
        "logistic, counts": ("counts", logistic, {"delta": 0.05}),
        "linear SVM": ("two", LinearSVC(random_state=0), {}),
        "SGD, four classes": ("four", SGDClassifier(random_state=0), {"delta": 0.05}),
        "ridge": ("two", RidgeClassifier(), {}),
        "LDA": ("four", LinearDiscriminantAnalysis(), {"delta": 0.05}),
        "Gaussian NB": ("four", GaussianNB(), {"delta": 0.05}),
        "Bernoulli NB": ("small counts", BernoulliNB(), {"delta": 0.05}),
        "multinomial NB": ("counts", MultinomialNB(), {"delta": 0.05}),
        "complement NB": ("small counts", ComplementNB(), {"delta": 0.05}),
        "categorical NB": ("small counts", CategoricalNB(min_categories=40), {"delta": 0.05}),
        "pipeline": ("table", linear_pipeline(logistic), {"delta": 0.05}),
        "pipeline, three classes": ("table, three", linear_pipeline(logistic), {"delta": 0.05, "promise": "rows"}),
        "pipeline, texts": ("table, texts", linear_pipeline(LinearSVC(random_state=0)), columns),
        "pipeline, pairs": ("table, texts", make_pipeline(ordinal, logistic), {"delta": 0.05}),
        "grid search": (
            "two",
            GridSearchCV(make_pipeline(StandardScaler(), logistic), {"logisticregression__C": [0.1, 1]}, cv=2),
            {},
        ),
        "calibrated": ("two", CalibratedClassifierCV(logistic, ensemble=False, cv=2), {}),
        "fixed threshold": ("two", FixedThresholdClassifier(logistic, threshold=0.7), {"delta": 0.05}),
        "one against the rest": ("four", OneVsRestClassifier(logistic), {"delta": 0.05}),
        "one-hot NB": (
            "table, texts",
            make_pipeline(OneHotEncoder(handle_unknown="ignore", min_frequency=3), BernoulliNB()),
            {"delta": 0.05},
        ),
        "EBM": (
            "table, texts",
            ExplainableBoostingClassifier(interactions=2, outer_bags=2, max_rounds=60, n_jobs=1, random_state=0),
            {"delta": 0.05},
        ),
        "LightGBM": ("gaps", lgb.LGBMClassifier(**light), {}),
        "LightGBM, table": ("codes", lgb.LGBMClassifier(**light), {"delta": 0.05}),
        "LightGBM, four classes": ("four", lgb.LGBMClassifier(**light), {"delta": 0.05}),
        "LightGBM, costs": ("named", lgb.LGBMClassifier(**light), {"delta": 0.05, "costs": PRICES}),
        "LightGBM, large trees": (
            "two",
            lgb.LGBMClassifier(**light | {"num_leaves": 90, "min_child_samples": 2}),
            {"promise": "rows"},
        ),
        "XGBoost": ("gaps", xgb.XGBClassifier(**extreme), {}),
        "XGBoost, table": ("codes", xgb.XGBClassifier(**extreme, enable_categorical=True), {"delta": 0.05}),
        "XGBoost, four classes": ("four", xgb.XGBClassifier(**extreme), {"delta": 0.05}),
        "CatBoost": ("gaps", catboost.CatBoostClassifier(**cat), {}),
        "hist gradient boosting": (
            "codes",
            HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=12, categorical_features="from_dtype"),
            {"delta": 0.05},
        ),
        "gradient boosting": ("two", GradientBoostingClassifier(n_estimators=60), {"budget": 12.0}),
        "random forest": ("gaps", RandomForestClassifier(60, max_depth=7, random_state=0), {"delta": 0.05}),
        "extra trees, four classes": ("four", ExtraTreesClassifier(60, max_depth=8, random_state=0), {"delta": 0.05}),
        "AdaBoost": (
            "two",
            AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=40, random_state=0),
            {"delta": 0.05},
        ),
    }


LEARNERS = {
    "Pegasos": ("two", lambda: saccade.Pegasos(random_state=0)),
    "Pegasos, the paper's": (
        "two",
        lambda: saccade.Pegasos(
            0.001, boundary="constant", rule="algorithm1", max_iter=2, average=False, random_state=1, **SAVE
        ),
    ),
    "Pegasos, sampled": ("two", lambda: saccade.Pegasos(order="sampled", max_iter=3, random_state=2, **SAVE)),
    "Pegasos, budget": (
        "two",
        lambda: saccade.Pegasos(boundary=saccade.Budget(5), order="permuted", max_iter=3, random_state=3, **SAVE),
    ),
    "Pegasos, memory": ("wide", lambda: saccade.Pegasos(max_iter=10, random_state=0)),
    "Pegasos, walks": ("digits", lambda: saccade.Pegasos(max_iter=3, random_state=0, **SAVE)),
    "Pegasos, four classes": ("four", lambda: saccade.Pegasos(max_iter=5, random_state=0)),
    "Pegasos, counts": ("counts", lambda: saccade.Pegasos(max_iter=5, random_state=0)),
    "Perceptron": ("two", lambda: saccade.Perceptron(max_iter=5, random_state=0)),
    "passive-aggressive": ("two", lambda: saccade.PassiveAggressive(0.1, variant="pa2", max_iter=5, random_state=0)),
    "exponentiated gradient": ("two", lambda: saccade.ExponentiatedGradient(max_iter=5, random_state=0)),
}
SAVE = {"cost": "features"}
CONTAINERS = {
    "LightGBM": ["columns first", "single", "strided", "frame"],
    "LightGBM, table": ["polars", "arrow"],
    "pipeline": ["polars", "arrow", "objects"],
    "logistic": ["columns first", "single", "strided", "frame", "arrow", "memory map"],
    "XGBoost": ["columns first", "frame"],
}
# The parameters of 0.2, by the names that they have in the issues.
RENAMED = {"budget": "average_features", "minimize": "fewest"}


@cache
def unpickled(name):
    """Return what a file holds, or None if libraries of these versions cannot unpickle it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other versions
        try:
            return joblib.load(FOLDER / name)
        except (AttributeError, ImportError, TypeError, ValueError):
            return None


def rows():
    """Return the saved rows and labels by name."""
    return unpickled("rows.joblib") or pytest.skip("these versions of the libraries cannot read the saved rows")


def models():
    """Return the saved models by case."""
    return unpickled("models.joblib") or pytest.skip("these versions of the libraries cannot read the saved models")


@cache
def cases():
    """Return for each case the rows' name and the parameters of ``attend``."""
    return json.loads((FOLDER / "cases.json").read_text())


def attended(case):
    """Return the certified model of a case, and the rows that it reports on."""
    name, options = cases()[case]
    X, y = rows()[name]
    levels = options.get("delta")
    if isinstance(levels, dict):
        options = options | {"delta": {int(label): level for label, level in levels.items()}}
    options = {RENAMED.get(option, option): value for option, value in options.items()}
    labels = y[N_FITTED:N_ATTENDED] if options.get("promise") == "accuracy" else None
    return saccade.attend(models()[case], X[N_FITTED:N_ATTENDED], labels, random_state=0, **options), X[N_ATTENDED:]


def results(case):
    """Return the arrays of a case by name."""
    attentive, X = attended(case)
    plan, certificate = attentive.plan_, attentive.certificate_
    found = {f"plan {field}": np.asarray(getattr(plan, field)) for field in PLAN}
    found["certificate"] = np.array([certificate.n_calibration, certificate.disagreement, certificate.features_per_row])
    found["columns"] = np.array([str(column) for column in attentive.columns_])
    found["full"] = attentive.full_margin(X)
    found |= {name: getattr(attentive.read(X), name) for name in ("label", "margin", "n_read", "stopped")}
    watch = saccade.Watch(attentive, share=0.2, random_state=0)
    found["watched"] = watch.predict(X)
    found["audited"] = np.array([watch.n_rows, watch.n_audited])
    found |= asked(attentive, X)
    return {name: values.astype(str) if values.dtype == object else values for name, values in found.items()}


PLAN = ("order", "checkpoints", "first", "begins", "weights", "shift", "lower", "upper", "coef", "intercept", "unit")


def asked(attentive, X):
    """Return what inquiries about five rows ask for, spend and decide."""
    if sp.issparse(X):
        return {}
    frame = X if hasattr(X, "iloc") else pd.DataFrame(X)
    questions, decisions = [], []
    for row in range(5):
        inquiry = attentive.inquire()
        while inquiry.wanted is not None:
            questions.append(f"{row}: {inquiry.wanted}")
            value = frame.iloc[row][inquiry.wanted]
            inquiry.tell(None if value is None or value != value else value)
        decisions.append(f"{inquiry.label} {inquiry.spent!r}")
    return {"questions": np.array(questions), "decisions": np.array(decisions)}


def learned(case):
    """Return what a learner learned, by name."""
    name, make = LEARNERS[case]
    X, y = wide() if name == "wide" else rows()[name]
    rest = X.shape[0] - 500
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = make().fit(X[:rest], y[:rest])
    record, reading = learner.training_, learner.read(X[rest:])
    counts = ("n_examples", "n_filtered", "n_skipped", "n_updates", "n_read", "n_read_filtered", "n_audited")
    return {
        "coef": learner.coef_,
        "intercept": learner.intercept_,
        "counts": np.array([getattr(record, name) for name in counts]),
        "label": learner.predict(X[rest:]),
        "n_read": reading.n_read,
    }


def contained(X, container, folder):
    """Return rows in another container."""
    import polars
    import pyarrow

    frame = X if hasattr(X, "iloc") else pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    if container == "memory map":
        np.save(folder / "rows.npy", X)
        return np.load(folder / "rows.npy", mmap_mode="r")
    return {
        "columns first": lambda: np.asfortranarray(X),
        "single": lambda: X.astype(np.float32),
        "strided": lambda: np.repeat(X, 2, axis=1)[:, ::2],
        "frame": lambda: frame,
        "polars": lambda: polars.from_pandas(frame),
        "arrow": lambda: pyarrow.Table.from_pandas(frame, preserve_index=False),
        "objects": lambda: frame.astype(object).to_numpy(),
    }[container]()


def machine():
    """Return what bits depend on: library versions, Python and the processor."""
    processor = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith(("model", "flags"))]
    versions = {name: importlib.metadata.version(name) for name in LIBRARIES}
    return versions | {"python": platform.python_version(), "processor": sorted(set(processor))}


def record(chosen):
    """Save the results of some cases, or of all; rows and models only where there are none yet."""
    FOLDER.mkdir(exist_ok=True)
    if not (FOLDER / "rows.joblib").exists():
        joblib.dump(make_rows(), FOLDER / "rows.joblib", compress=("xz", 9))
    if not (FOLDER / "models.joblib").exists():
        made = makers()
        (FOLDER / "cases.json").write_text(
            json.dumps({case: [name, options] for case, (name, _, options) in made.items()}, default=list, indent=1)
        )
        fitted = {}
        for case, (name, model, _) in made.items():
            X, y = rows()[name]
            fitted[case] = clone(model).fit(X[:N_FITTED], y[:N_FITTED])
        joblib.dump(fitted, FOLDER / "models.joblib", compress=("xz", 9))
    path = FOLDER / "results.npz"
    kept = dict(np.load(path)) if path.exists() else {}
    for case in chosen or [*cases(), *LEARNERS]:
        kept = {key: values for key, values in kept.items() if not key.startswith(f"{case}/")}
        found = learned(case) if case in LEARNERS else results(case)
        kept |= {f"{case}/{name}": values for name, values in found.items()}
        print(case, *(found[name] for name in ("certificate", "counts") if name in found), flush=True)
    np.savez_compressed(path, **kept)
    (FOLDER / "machine.json").write_text(json.dumps(machine(), indent=1))


if __name__ == "__main__":
    record(sys.argv[1:])
else:

    @cache
    def golden():
        """Return the recorded arrays by case and name."""
        by_case = {}
        for key, values in np.load(FOLDER / "results.npz").items():
            case, _, name = key.partition("/")
            by_case.setdefault(case, {})[name] = values
        return by_case

    def compare(found, case):
        expected = golden()[case]
        assert found.keys() == expected.keys()
        if machine() == json.loads((FOLDER / "machine.json").read_text()):
            for name, values in found.items():
                assert values.tobytes() == expected[name].tobytes(), name
        elif case in LEARNERS:
            assert np.mean(found["label"] == expected["label"]) > 0.98
        else:
            assert np.allclose(found["full"], expected["full"], rtol=1e-6, atol=1e-9)
            assert np.mean(found["label"] == expected["label"]) > 0.96
            assert found["n_read"].mean() < 1.25 * expected["n_read"].mean() + 1

    @pytest.mark.parametrize("case", json.loads((FOLDER / "cases.json").read_text()))
    def test_model_gives_golden_results(case):
        compare(results(case), case)

    @pytest.mark.parametrize("case", LEARNERS)
    def test_learner_gives_golden_results(case):
        compare(learned(case), case)

    @pytest.mark.parametrize(
        ("case", "container"), [(case, kind) for case, kinds in CONTAINERS.items() for kind in kinds]
    )
    def test_containers_give_the_same(case, container, tmp_path):
        attentive, X = attended(case)
        whole = attentive.read(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rows with names that the model does not know, and the opposite
            other = attentive.read(contained(X, container, tmp_path))
        for name in ("label", "margin", "n_read", "stopped"):
            assert np.array_equal(getattr(other, name), getattr(whole, name)), name

    def test_dask_gives_the_same():
        dask = pytest.importorskip("dask.dataframe")
        for case in ("pipeline", "LightGBM, table"):
            attentive, X = attended(case)
            labels = attentive.predict(dask.from_pandas(X, npartitions=3)).compute()
            assert np.array_equal(labels, attentive.predict(X))
