"""A model over raw columns as an additive model: a part is what a column, or several together, adds to one score."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from saccade.models.additive import Ranges
from saccade.models.categories import Categories
from saccade.models.tables.arrays import arrays_of
from saccade.models.tables.probing import takes
from saccade.models.tables.source import TermSource
from saccade.models.tables.storage import Kinds, RawColumns, raw_columns
from saccade.models.tables.terms import NoTerm, Term
from saccade.reading.plan import EACH
from saccade.reading.tables import take_rows

__all__ = ["TermModel"]

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TermModel:
    """Terms over the columns that a user passes: one for each column, in their order, then those of several columns."""

    terms: tuple[Term, ...] = field(repr=False)
    intercept: Reals = field(repr=False)  # (scores,)
    classes: NDArray[Any]
    columns: tuple[str, ...] | None = field(default=None, repr=False)
    categories: Mapping[int, Categories] = field(default_factory=dict, repr=False)
    # Columns that a transformer takes as they are.
    as_held: frozenset[int] = field(default=frozenset(), repr=False)
    n_columns: int = 0
    together: NDArray[np.intp] | None = None  # see ``Kinds``

    parts_are_columns: ClassVar[bool] = False
    of_trees: ClassVar[bool] = False
    takes_objects: ClassVar[bool] = True

    @property
    def n_scores(self) -> int:
        return int(self.intercept.size)

    @property
    def each_needs_one(self) -> bool:
        """Whether every term needs one column."""
        return len(self.terms) == self.n_columns

    @cached_property
    def kinds(self) -> Kinds:
        return Kinds(self.n_columns, self.categories, self.as_held, self.together)

    @cached_property
    def coef(self) -> Reals:
        """(scores, parts): 1 where a part counts in a score."""
        counts = np.array([not isinstance(term, NoTerm) for term in self.terms], dtype=np.float64)
        coef: Reals = np.kron(counts, np.eye(self.n_scores)).astype(np.float64, copy=False)
        return coef

    @cached_property
    def unit(self) -> NDArray[np.uint32]:
        """The term that each part belongs to; empty where each is one."""
        n, scores = len(self.terms), self.n_scores
        return EACH if scores == 1 else np.repeat(np.arange(n, dtype=np.uint32), scores)

    @property
    def unit_names(self) -> tuple[str, ...] | None:
        """The names of terms: those of their columns, where these are known; else numbers, where some have several."""
        if self.columns is None and self.each_needs_one:
            return None
        names = tuple(map(str, range(self.n_columns))) if self.columns is None else self.columns
        return tuple(" & ".join(names[column] for column in term.columns) for term in self.terms)

    def columns_of(self, parts: NDArray[np.intp]) -> NDArray[np.intp]:
        terms = (self.terms[term] for term in dict.fromkeys((parts // self.n_scores).tolist()))
        asked = dict.fromkeys(column for term in terms if not isinstance(term, NoTerm) for column in term.columns)
        return np.array(list(asked), dtype=np.intp)

    def values(self, X: Any, rows: NDArray[np.intp]) -> Reals:
        source = self.source(take_rows(X, rows))
        made = source.values()
        bad = np.flatnonzero(~np.isfinite(made).all(axis=1))
        if bad.size:
            k = int(bad[np.argmin(rows[bad])])
            raise self.refusal(source.raw, k, int(rows[k])) or ValueError(f"Row {rows[k]} of X overflows.")
        return made

    def full(self, X: Any, rows: NDArray[np.intp]) -> None:
        return None

    def ranges(self, X: Any, rows: NDArray[np.intp]) -> Ranges:
        """Return what some rows have in each column; anything in those that no term needs."""
        raw, n = raw_columns(take_rows(X, rows), self.kinds), self.n_columns
        low, high, missing = np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n, dtype=bool)
        codes: dict[int, Reals] = {}
        every = np.arange(raw.n_rows, dtype=np.uint32)
        for column in self.used.tolist():
            if column in self.as_held:
                continue
            values, categories = raw.some(column, every), self.categories.get(column)
            if categories is None:
                missing[column] = np.isnan(values).any()
                low[column] = np.fmin.reduce(values, initial=np.inf)
                high[column] = np.fmax.reduce(values, initial=-np.inf)
            else:
                seen = np.unique(values)
                missing[column] = seen[-1] == categories.values.size + 1
                codes[column] = seen[seen <= categories.values.size].astype(np.float64)
                low[column], high[column] = 0.0, float(categories.values.size)
        return Ranges(low, high, missing, {column: seen for column, seen in codes.items() if seen.size})

    def check_own(self, X: Any, rows: NDArray[np.intp]) -> None:
        """Do nothing: models sum in an order of their own, and their labels are compared."""

    def as_taken(self, X: Any) -> Any:
        return X

    def source(self, X: Any) -> TermSource:
        return TermSource(self, raw_columns(X, self.kinds))

    def named(self, columns: tuple[str, ...]) -> "TermModel":
        return replace(self, columns=columns)

    @cached_property
    def used(self) -> NDArray[np.intp]:
        """The columns that any term needs."""
        needed = {column for term in self.terms if not isinstance(term, NoTerm) for column in term.columns}
        return np.array(sorted(needed), dtype=np.intp)

    @cached_property
    def takes_missing(self) -> NDArray[np.bool_]:
        """(columns,) whether a missing value is a value like another."""
        each = (
            takes(self.terms, self.kinds, column, self.kinds.none_of(column, 1)) for column in range(self.n_columns)
        )
        return np.fromiter(each, dtype=bool, count=self.n_columns)

    def parts_lost(self, absent: Iterable[int]) -> NDArray[np.bool_]:
        """Return which parts have no value in a row where some columns are missing, (parts,)."""
        refused = {column for column in absent if not self.takes_missing[column]}
        lost = [not isinstance(term, NoTerm) and not refused.isdisjoint(term.columns) for term in self.terms]
        return np.repeat(lost, self.n_scores)

    def arrays(self) -> list[NDArray[Any]]:
        """Return what tells this model from others, but for its names."""
        return list(arrays_of((self.terms, self.intercept, dict(self.categories))))

    def name_of(self, column: int) -> str:
        return f"column {column}" if self.columns is None else f"column {self.columns[column]!r}"

    def refusal(
        self, raw: RawColumns, row: int, number: int, among: NDArray[np.intp] | None = None
    ) -> ValueError | None:
        """Return what says which value of a row a term refuses; ``number`` is the row's among a user's rows."""
        refused = self.refused(raw, row, among)
        if refused is None:
            return None
        what, missing = refused
        remedy = "impute it" if missing else "map it to one that it takes"
        return ValueError(
            f"Row {number} of X has {what}, and the model has no way for that: {remedy}, or fit the model with a step "
            "that takes it."
        )

    def refused(self, raw: RawColumns, row: int, among: NDArray[np.intp] | None = None) -> tuple[str, bool] | None:
        """Return which value of a row a term refuses, and whether it is a missing one; None where none does.

        ``among`` are the columns that are there; all where it is None.
        """
        one = np.array([row], dtype=np.uint32)
        there = None if among is None else set(among.tolist())
        for term in self.terms:
            if isinstance(term, NoTerm) or (there is not None and not there.issuperset(term.columns)):
                continue
            if np.isfinite(term.values(lambda name: raw.some(name, one))).all():
                continue
            column = term.columns[0]
            value, categories = raw.some(column, one).tolist()[0], self.categories.get(column)
            if categories is not None:
                missing = value == categories.values.size + 1
                what = "no value" if missing else f"a value that is none of {categories.some}"
            else:
                missing = value is None or value != value
                what = "NaN" if missing else f"{value!r}"
            return f"{what} in {self.name_of(column)}", bool(missing)
        return None
