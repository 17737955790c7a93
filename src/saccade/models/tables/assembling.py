"""Blocks of features and the weights of a linear model become the terms of an additive model over raw columns."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from saccade.models.categories import Categories
from saccade.models.linear import LinearModel
from saccade.models.tables.blocks import (
    DOUBLE,
    Block,
    Columns,
    Constant,
    Foreign,
    Formula,
    Lookup,
    Raw,
    as_numbers,
    expanded,
    selected,
)
from saccade.models.tables.maps import Match
from saccade.models.tables.model import TermModel
from saccade.models.tables.pieces import pieces_of
from saccade.models.tables.terms import FormulaTerm, NoTerm, PiecesTerm, Table, Term

__all__ = ["assemble"]

Reals = NDArray[np.float64]
# Some of the features of a column or of several, and their weights (scores, features).
Weighed = tuple[Lookup | Formula | Foreign, Reals]


def assemble(
    blocks: Iterable[Block],
    coef: Reals,
    intercept: Reals,
    classes: NDArray[Any],
    n_columns: int,
    names: Sequence[str] | None,
) -> LinearModel | TermModel:
    """Return the model whose scores are intercept + coef · features; a plain linear one where features are lines."""
    columns = None if names is None else tuple(map(str, names))
    blocks = list(blocks)
    if all(isinstance(block.made, Columns) for block in blocks):
        return _linear(blocks, coef, intercept, classes, n_columns, columns)
    by_columns: dict[tuple[int, ...], list[Weighed]] = {}
    for block in expanded(blocks):
        weights = coef[:, block.places]
        if isinstance(block.made, Constant):
            intercept = intercept + weights @ block.made.values
        elif np.any(weights != 0):
            made, own = _counting(block.made, weights)
            by_columns.setdefault(made.columns, []).append((made, own))
    numbers, categories, as_held = _kinds(by_columns)
    together = _groups(n_columns, by_columns)
    by_columns = {
        columns: [(_by_number(made, numbers), weights) for made, weights in weighed]
        for columns, weighed in by_columns.items()
    }
    terms: list[Term] = []
    for column in range(n_columns):
        weighed = by_columns.get((column,))
        terms.append(NoTerm(column, intercept.size) if weighed is None else _term((column,), weighed, categories))
    terms += [_term(columns, several, categories) for columns, several in by_columns.items() if len(columns) > 1]
    lines = [_line(term) for term in terms]
    if all(line is not None for line in lines):
        slopes, constants = (np.stack([line[k] for line in lines if line is not None], axis=1) for k in (0, 1))
        return LinearModel(np.ascontiguousarray(slopes), intercept + constants.sum(axis=1), classes, columns)
    return TermModel(tuple(terms), np.array(intercept), classes, columns, categories, as_held, n_columns, together)


def _linear(
    blocks: Sequence[Block],
    coef: Reals,
    intercept: Reals,
    classes: NDArray[Any],
    n_columns: int,
    names: tuple[str, ...] | None,
) -> LinearModel:
    """Return the model of columns that are at most scaled."""
    weights, constant = np.zeros((intercept.size, n_columns)), np.array(intercept, dtype=np.float64)
    for block in blocks:
        if isinstance(block.made, Columns):
            (slope, at_zero), own = block.made.line(), coef[:, block.places]
            np.add.at(weights.T, block.made.each, (own * slope).T)
            constant += own @ at_zero
    return LinearModel(weights, constant, classes, names)


def _counting(made: Raw | Lookup | Formula | Foreign, weights: Reals) -> Weighed:
    """Return a block without the features that do not count."""
    counts = np.flatnonzero(np.any(weights != 0, axis=0))
    known: Any = as_numbers(made) if isinstance(made, Raw) else made
    if counts.size < weights.shape[1]:
        known = selected(known, counts)
    return known, np.ascontiguousarray(weights[:, counts])  # by rows, as files give them back: sums keep their bits


def _kinds(
    by_columns: dict[tuple[int, ...], list[Weighed]],
) -> tuple[frozenset[int], dict[int, Categories], frozenset[int]]:
    """Return the columns that are numbers, the categories of others, and those that are taken as they are."""
    found = [base for weighed in by_columns.values() for made, _ in weighed for base in _bases(made)]
    numbers = {base.columns[0] for base in found if isinstance(base, Formula)}
    numbers |= {base.column for base in found if isinstance(base, Foreign) and base.numeric}
    as_held = {base.column for base in found if isinstance(base, Foreign) and not base.numeric}
    categories: dict[int, Categories] = {}
    lookups = [base for base in found if isinstance(base, Lookup)]
    for column in dict.fromkeys(base.column for base in lookups):
        values = _union([base.categories for base in lookups if base.column == column])
        are_numbers = values.dtype.kind in "fiub"
        if column in as_held or (column in numbers and not are_numbers and values.size):
            raise TypeError(
                f"Column {column} is taken as categories by one step and as something else by another, which cannot be "
                "read from one value. Pass it twice, under two names."
            )
        if column not in numbers:
            categories[column] = Categories(values, numbers_too=True, others_apart=True)
    return frozenset(numbers), categories, frozenset(as_held)


def _groups(n_columns: int, by_columns: dict[tuple[int, ...], list[Weighed]]) -> NDArray[np.intp]:
    """Return a number for each column, the same for columns that steps take together; DOUBLE for those of ``Kinds``."""
    group = np.arange(n_columns)
    bases = [base for weighed in by_columns.values() for made, _ in weighed for base in _bases(made)]
    for together in {base.together for base in bases if isinstance(base, Formula)}:
        members = group[[column for column in together if column != DOUBLE]]
        group[np.isin(group, members)] = DOUBLE if DOUBLE in together else members.min(initial=n_columns)
    return group


def _bases(made: Lookup | Formula | Foreign) -> list[Lookup | Formula | Foreign]:
    """Return what the features of a block begin with: columns of numbers, of categories, or as they are."""
    if isinstance(made, Formula) and made.inputs:
        return [base for block in made.inputs for base in _bases(block)]
    return [made]


def _union(all_categories: list[NDArray[Any]]) -> NDArray[Any]:
    """Return all categories of a column, those of the first step first; texts as objects."""
    values = list(dict.fromkeys(value for own in all_categories for value in own.tolist()))
    if values and all(isinstance(value, int | float) for value in values):
        return np.array(values)
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def _by_number(made: Lookup | Formula | Foreign, numbers: frozenset[int]) -> Lookup | Formula | Foreign:
    """Return a block that looks numbers up where the column is one of numbers, for another step takes it as such."""
    if isinstance(made, Lookup) and made.column in numbers:
        values = made.categories.astype(np.float64)
        order = np.argsort(values)
        rows = np.concatenate([order, [values.size, values.size + 1]])
        return Formula((made.column,), (Match(values[order], made.taken[rows]),))
    if isinstance(made, Formula):  # which columns a step takes together is known by now
        return Formula(made.columns, made.maps, tuple(_by_number(block, numbers) for block in made.inputs))
    return made


def _by_code(made: Lookup | Formula | Foreign, categories: dict[int, Categories]) -> Lookup | Formula | Foreign:
    """Return a block that looks the codes of the model up, rather than those of a single step."""
    if isinstance(made, Lookup):
        own, of_model = Categories(made.categories, True).codes, categories[made.column].values.tolist()
        n = made.categories.size
        rows = [*(int(own.get(value, n)) for value in of_model), n, n + 1]
        table = made.table[rows] if sp.issparse(made.table) else np.ascontiguousarray(made.table[rows])
        return Lookup(made.column, categories[made.column].values, table, made.refused[rows])
    if isinstance(made, Formula) and made.inputs:
        return Formula(made.columns, made.maps, tuple(_by_code(block, categories) for block in made.inputs))
    return made


def _term(columns: tuple[int, ...], weighed: list[Weighed], categories: dict[int, Categories]) -> Term:
    coded = [(_by_code(made, categories), weights) for made, weights in weighed]
    if len(columns) == 1 and all(isinstance(made, Lookup) for made, _ in coded):
        tables = [made.weighed(weights) for made, weights in coded if isinstance(made, Lookup)]
        return Table(columns[0], np.ascontiguousarray(sum(tables)))
    if len(columns) == 1:
        formulas = [(made, weights) for made, weights in coded if isinstance(made, Formula)]
        pieces = pieces_of(formulas) if len(formulas) == len(coded) else None
        if pieces is not None:
            return PiecesTerm(columns[0], pieces)
    return FormulaTerm(columns, *zip(*coded, strict=True))


def _line(term: Term) -> tuple[Reals, Reals] | None:
    """Return slope and constant of a term, (scores,) each, where it is one of a linear model."""
    if isinstance(term, NoTerm):
        return np.zeros(term.n_scores), np.zeros(term.n_scores)
    return term.pieces.line if isinstance(term, PiecesTerm) else None
