"""Every pair of digits, learned attentively and predicted with early stops."""

from dataclasses import dataclass
from itertools import combinations

from saccade.learners.pegasos import Pegasos
from saccade.study.experiments.comparison import HONEST
from saccade.study.experiments.digits import Pair, Score, derived_seed, load_pair, score

PAIRS: tuple[Pair, ...] = tuple(combinations(range(10), 2))


@dataclass(frozen=True)
class PairRecord:
    """One pair on one permutation, with the defaults and five passes."""

    pair: Pair
    permutation: int
    features_learned: float
    decision_error: float
    score: Score


def learn_pair(pair: Pair, permutations: int, seed: int) -> list[PairRecord]:
    digits = load_pair(pair)
    records = []
    for permutation in range(permutations):
        model = Pegasos(random_state=derived_seed(seed, permutation), **HONEST).fit(digits.X, digits.y)
        training = model.training_
        records.append(
            PairRecord(pair, permutation, training.features_per_example, training.decision_error, score(model, digits))
        )
    return records
