"""scikit-learn's own checks: all of them on every estimator, and on other settings those that depend on the setting."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from saccade import (
    AttentiveClassifier,
    Budget,
    ConstantSTST,
    CurvedSTST,
    ExponentiatedGradient,
    Full,
    PassiveAggressive,
    Pegasos,
    Perceptron,
)

# Steps are taken one example after another, so that an example of weight 2 is not the same as the example twice:
# SGDClassifier lists the same two checks.
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "an online step with weight 2 is not two steps",
    "check_sample_weight_equivalence_on_sparse_data": "an online step with weight 2 is not two steps",
}

# Every estimator with its default parameters; but the checks have too few rows for a certificate, which is an error by
# default. Besides, a constant boundary without an audit, and plans that stop early although rows are few.
LEARNERS = [
    ExponentiatedGradient(),
    PassiveAggressive(),
    Pegasos(),
    Perceptron(),
    PassiveAggressive(variant="pa2", boundary="constant", order="permuted", audit=0, random_state=0),
]
CERTIFIED = [
    AttentiveClassifier(when_too_few="read"),
    AttentiveClassifier(when_too_few="read", delta=0.3, confidence=0.6, random_state=0),
]
OTHERS = [
    Pegasos(boundary=Full(), random_state=0),
    Pegasos(boundary=ConstantSTST(0.1), order="natural", audit=0, random_state=0),
    Pegasos(boundary=Budget(5), order="permuted", random_state=0),
    Pegasos(boundary=CurvedSTST(0.1, tail="hoeffding"), order="sampled", random_state=0),
]
# What the rule, the boundary or the order could break. The rest is about parameters, tags and messages, which all
# settings share.
DEPENDING = {
    "check_classifiers_classes",
    "check_classifiers_train",
    "check_estimators_nan_inf",
    "check_estimators_pickle",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [*LEARNERS, *CERTIFIED], expected_failed_checks=lambda estimator: {} if estimator in CERTIFIED else EXPECTED
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(one, check, id=f"{estimator}-{check.func.__name__}{check.keywords or ''}")
        for estimator in OTHERS
        for one, check in estimator_checks_generator(estimator)
        if check.func.__name__ in DEPENDING
    ],
)
def test_scikit_learn_check_that_depends_on_the_setting(estimator, check):
    check(estimator)
