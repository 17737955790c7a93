"""What a certified model offers to those who fetch values one by one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from saccade.asking.inquiry import Inquiry, Questions, resume
from saccade.asking.lazily import Fetch, LazyReading, Start, ask_all, ask_all_async, lazy_reading
from saccade.asking.one_row import RowReader
from saccade.asking.rows_of_columns import ColumnReader
from saccade.asking.rows_of_terms import TermReader
from saccade.asking.rows_of_trees import TreeReader
from saccade.models.additive import Additive
from saccade.models.tables.model import TermModel
from saccade.models.trees.model import TreeModel
from saccade.planning.absence import Population
from saccade.planning.prices import Prices, price_list
from saccade.promises.certificate import Certificate, strictest
from saccade.reading.plan import Plan

__all__ = ["AskingMixin"]


class AskingMixin:
    """Inquiries and lazy prediction, for a classifier that has a plan."""

    costs: Any
    groups: Any
    classes_: NDArray[Any]
    additive_: Additive
    plan_: Plan
    certificate_: Certificate
    population_: Population
    prices_: Prices

    def inquire(
        self,
        costs: ArrayLike | Mapping[Any, float] | None = None,
        *,
        known: Any = None,
        groups: Mapping[Any, Sequence[Any]] | Sequence[Any] | None = None,
    ) -> Inquiry:
        """Begin to ask for the features of one row, one after another, until its label is clear.

        ``known`` values cost nothing: a dict of feature to value, with None for what cannot be had, or a pandas Series,
        such as a row of a table, whose missing values are not known yet. ``costs`` and ``groups``, where given, replace
        those of the model for this row. They change what ``spent`` says and what is fetched together, not the order,
        for the plan is what is certified.
        """
        return Inquiry(self._questions(costs, groups), known)

    def resume(self, text: str) -> Inquiry:
        """Go on with an inquiry that ``Inquiry.to_json`` wrote down, in another process or on another day."""
        return resume(text, self._questions())

    def predict_lazily(self, fetch: Fetch, rows: Iterable[Any], *, concurrency: int = 1) -> LazyReading:
        """Predict rows whose features are fetched when the plan asks for them.

        Parameters
        ----------
        fetch : function or coroutine function
            ``fetch(row, feature)`` returns the value, None if there is none, or a dict with the values of several
            features.
        rows : iterable
            Whatever ``fetch`` identifies rows by: keys, records, addresses.
        concurrency : int
            Number of calls at once; plain functions are called from as many threads.

        Returns
        -------
        LazyReading
            ``label``, ``margin``, ``n_asked``, ``spent``, ``certified``, and ``failed``: the exceptions by row. Labels
            of failed rows are masked. Retries and time-outs are up to ``fetch``.
        """
        start = Start(self._questions())
        return lazy_reading(self.classes_, ask_all(fetch, rows, concurrency, lambda: start))

    async def predict_lazily_async(self, fetch: Fetch, rows: Iterable[Any], *, concurrency: int = 1) -> LazyReading:
        """Do the same as ``predict_lazily`` in a running event loop."""
        start = Start(self._questions())
        return lazy_reading(self.classes_, await ask_all_async(fetch, rows, concurrency, lambda: start))

    def _questions(self, costs: Any = None, groups: Any = None) -> Questions:
        """Return what inquiries go by, shared by all of them that have no prices of their own."""
        shared: Questions | None = self.__dict__.get("_shared_questions")
        if shared is None:
            check_is_fitted(self)
            stated = self.certificate_.delta
            levels = stated.values() if isinstance(stated, Mapping) else []  # in the order of the classes
            shared = Questions(
                self._row_reader(self.plan_),
                self.prices_,
                self.classes_,
                self.additive_.columns,
                frozenset(code for code, level in enumerate(levels) if level >= 1),
            )
            self._shared_questions = shared
        if costs is None and groups is None:
            return shared
        given = self.costs if costs is None else costs, self.groups if groups is None else groups
        return replace(shared, prices=price_list(*given, self.additive_.n_columns, self.additive_.columns))

    def _questions_in_full(self) -> Questions:
        """Return what inquiries go by that ask for everything that the full model needs."""
        return replace(self._questions(), reader=self._row_reader(self.plan_.without_stops()))

    def _row_reader(self, plan: Plan) -> RowReader:
        if isinstance(self.additive_, TreeModel):
            return TreeReader(self.additive_, plan, self.population_)
        delta = strictest(self.certificate_.delta)
        if isinstance(self.additive_, TermModel):
            return TermReader(self.additive_, plan, self.population_, delta)
        return ColumnReader(plan, self.population_, delta)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is shared by inquiries, which is made again when it is asked for."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_shared_questions"}
