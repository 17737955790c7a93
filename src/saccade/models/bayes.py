"""Naive Bayes: each feature adds the logarithm of its likelihood in a class to that class's score.

What a feature adds is linear in it for MultinomialNB and ComplementNB, linear in whether it exceeds a threshold for
BernoulliNB, a parabola for GaussianNB, and a look-up by its code for CategoricalNB. So there are two steps, which also
serve a model at the end of a pipeline: maps of each feature, and weights of what they make.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.utils.validation import check_is_fitted

from saccade.models.tables.blocks import Block, Known, Lookup, Made, dense, expanded, mapped, selected
from saccade.models.tables.maps import Bins, Map, Match, Monomials, Scale, Select, Threshold

__all__ = ["Likelihoods", "steps_and_weights"]

Reals = NDArray[np.float64]
Linear = tuple[Reals, Reals, NDArray[Any]]  # weights (scores, features), intercept (scores,), classes


class Likelihoods(NamedTuple):
    """The scores of a model as intercept + coef · made, where maps make as many numbers of each of its features."""

    maps: tuple[tuple[Map, ...], ...]  # of each feature by itself, applied in turn; none where it is taken as it is
    coef: Reals  # (scores, what all features make, in their order)
    intercept: Reals  # (scores,)
    classes: NDArray[Any]

    def behind(self, blocks: Sequence[Block]) -> list[Block]:
        """Return what the maps make of the model's features, which are given in blocks."""
        if not any(self.maps):  # a model of texts may have a hundred thousand features
            return list(blocks)
        width = self.coef.shape[1] // len(self.maps)
        return [made for block in expanded(blocks) for made in self._behind(block, width)]

    def _behind(self, block: Known, width: int) -> list[Block]:
        maps = [self.maps[place] for place in block.places.tolist()]
        places = block.places[:, None] * width + np.arange(width)
        if isinstance(block.made, Lookup):
            table = dense(block.made.table)
            # one table again, for a column may have a feature for each category
            tables = [_applied(steps, table[:, [k]]) for k, steps in enumerate(maps)]
            return [Block(places.ravel(), replace(block.made, table=np.concatenate(tables, axis=1)))]
        one = len(maps) == 1
        features: list[Made] = [block.made if one else selected(block.made, np.array([k])) for k in range(len(maps))]
        return [Block(*pair) for pair in zip(places, map(_mapped, features, maps), strict=True)]


def _linear_scores(model: Any) -> Linear | None:
    """Return the scores of a model that is linear in its features, or, for BernoulliNB, in these made 0 or 1.

    With two classes there is one, by how much the second class is ahead. Other models give None.
    """
    if not isinstance(model, BernoulliNB | MultinomialNB | ComplementNB):
        return None
    _check(model)
    weights = np.asarray(model.feature_log_prob_, dtype=np.float64)
    if isinstance(model, ComplementNB):  # which leaves the classes' frequencies out
        constants = np.zeros(weights.shape[0])
    else:
        constants = np.asarray(model.class_log_prior_, dtype=np.float64)
    if isinstance(model, BernoulliNB):
        with np.errstate(divide="ignore", invalid="ignore"):
            absent = np.log(1 - np.exp(weights))
            weights, constants = weights - absent, constants + absent.sum(axis=1)
    return (
        _finite(model, _ahead(weights), "alpha"),
        _finite(model, _ahead(constants), "alpha"),
        np.array(model.classes_),
    )


def steps_and_weights(model: Any) -> Likelihoods | None:
    """Return what a naive Bayes classifier adds up; None for other models."""
    linear = _linear_scores(model)
    if linear is not None:
        binarizes = isinstance(model, BernoulliNB) and model.binarize is not None
        step = (Threshold(np.array([float(model.binarize)])),) if binarizes else ()
        return Likelihoods((step,) * linear[0].shape[1], *linear)
    if isinstance(model, GaussianNB):
        return _of_gaussian(model)
    return _of_categorical(model) if isinstance(model, CategoricalNB) else None


def _of_gaussian(model: GaussianNB) -> Likelihoods:
    """Each feature makes ((x - mean) / deviation)² of every class, as it is the least rounded."""
    _check(model)
    mean, variance = (np.asarray(part, dtype=np.float64) for part in (model.theta_, model.var_))
    k, n = mean.shape
    with np.errstate(divide="ignore"):
        prior, density = np.log(model.class_prior_), -0.5 * np.log(2 * np.pi * variance)
    constants = _finite(model, prior, "priors") + _finite(model, density, "var_smoothing").sum(axis=1)
    deviation = np.sqrt(variance)
    repeat, square = Select(np.zeros(k, dtype=np.intp)), Monomials(2 * np.eye(k, dtype=np.int64))
    maps = tuple(
        (repeat, Scale.of(k, minus=mean[:, feature], over=deviation[:, feature]), square) for feature in range(n)
    )
    coef = np.tile(_ahead(-0.5 * np.eye(k)), n)
    return Likelihoods(maps, coef, _ahead(constants), np.array(model.classes_))


def _of_categorical(model: CategoricalNB) -> Likelihoods:
    """Each feature makes what it adds to every score, by its whole part: scikit-learn cuts numbers off there."""
    _check(model)
    tables = [_finite(model, _ahead(np.asarray(table)), "alpha") for table in model.feature_log_prob_]
    maps = []
    for table in tables:
        n_scores, n = table.shape
        whole = Bins(np.concatenate([[np.nextafter(-1.0, 0.0)], np.arange(1.0, n + 1)]))
        refused = np.full((1, n_scores), np.nan)  # below, above, any other, missing
        maps.append((whole, Match(np.arange(n + 2.0), np.concatenate([refused, table.T, refused, refused, refused]))))
    constants = _finite(model, _ahead(np.asarray(model.class_log_prior_)), "alpha")
    return Likelihoods(tuple(maps), np.tile(np.eye(constants.size), len(maps)), constants, np.array(model.classes_))


def _ahead(of_classes: Reals) -> Reals:
    """Return what belongs to scores, of what belongs to classes: by how much the second of two is ahead."""
    return of_classes[1:] - of_classes[:1] if of_classes.shape[0] == 2 else of_classes


def _mapped(made: Made, steps: tuple[Map, ...]) -> Made:
    for step in steps:
        made = mapped(made, step)
    return made


def _applied(steps: tuple[Map, ...], features: Reals) -> Reals:
    for step in steps:
        features = step(features)
    return features


def _check(model: Any) -> None:
    check_is_fitted(model)
    if len(model.classes_) < 2:
        raise TypeError(
            f"{type(model).__name__} knows one class only, {model.classes_[0]!r}: there is nothing to read."
        )


def _finite(model: Any, logarithms: Reals, parameter: str) -> Reals:
    if not np.isfinite(logarithms).all():
        raise TypeError(
            f"{type(model).__name__} gives something a probability of 0, whose logarithm cannot be added. Fit it with "
            f"{parameter} such that nothing is impossible."
        )
    return logarithms
