"""scikit-learn's own checks, over every learner and the settings that change its code path."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from saccade import Budget, ConstantSTST, CurvedSTST, Full, PassiveAggressive, Pegasos, Perceptron

# Steps are taken one example after another, so that an example of weight 2 is not the same as the example twice:
# SGDClassifier lists the same two checks.
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "an online step with weight 2 is not two steps",
    "check_sample_weight_equivalence_on_sparse_data": "an online step with weight 2 is not two steps",
}

ESTIMATORS = [
    Pegasos(random_state=0),
    Pegasos(boundary=Full(), random_state=0),
    Pegasos(boundary=ConstantSTST(0.1), order="natural", audit=0, random_state=0),
    Pegasos(boundary=Budget(5), order="permuted", random_state=0),
    Pegasos(boundary=CurvedSTST(0.1, tail="hoeffding"), order="sampled", random_state=0),
    Perceptron(random_state=0),
    PassiveAggressive(random_state=0),
    PassiveAggressive(variant="pa2", boundary="constant", order="permuted", random_state=0),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: EXPECTED)
def test_scikit_learn_check(estimator, check):
    check(estimator)
