"""What a certified plan asks for, in order: names, prices, groups, and the share of rows that is decided by then."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.models.additive import Additive
from saccade.planning.prices import Prices, group_names
from saccade.promises.certificate import Certificate
from saccade.reading.plan import Plan

__all__ = ["Certified", "Column", "Outline", "Step"]


class Certified(Protocol):
    """A fitted ``AttentiveClassifier``."""

    boundary: Any
    costs: Any
    groups: Any
    additive_: Additive
    plan_: Plan
    certificate_: Certificate
    prices_: Prices


@dataclass(frozen=True)
class Step:
    """A feature, a tree or a term, in its place of the plan."""

    number: int
    name: str
    columns: tuple[str, ...]  # that it can ask for
    groups: tuple[str, ...]  # that these columns are bought with
    price: float | None  # of what was not bought before, None where all was; of a tree, if its path asks for all of it
    asked: float | None  # share of the calibration rows that came to it; None where that is not known
    decided: float | None  # share of them that was decided once it was read


@dataclass(frozen=True)
class Column:
    """A column that trees, or terms of several, can ask for."""

    name: str
    group: str | None
    price: float  # of the group, where it has one
    step: Step  # the first that can ask for it


class Outline:
    """The plan of a certified model in words and figures.

    >>> from sklearn.datasets import make_classification
    >>> from saccade import AttentiveClassifier
    >>> X, y = make_classification(5000, 50, random_state=0)
    >>> outline = Outline(AttentiveClassifier(delta=0.05, random_state=0).fit(X, y))
    >>> [step.number for step in outline.steps(2)], outline.n_steps <= 50
    ([1, 2], True)
    """

    def __init__(self, model: Certified) -> None:
        self.plan, self.certificate, self._prices = model.plan_, model.certificate_, model.prices_
        self._additive = model.additive_
        names = getattr(model, "feature_names_in_", None)
        self._names = self._additive.columns if names is None else [str(name) for name in names]
        self._groups = group_names(model.groups, self._prices, self._additive.columns)
        self.priced = model.costs is not None or model.groups is not None

    @property
    def counted(self) -> str:
        """What is counted of a row."""
        return "stored values" if self.certificate.stored else self.plan.noun

    @property
    def steps_are_columns(self) -> bool:
        """Whether each step needs the column in its place, and no other."""
        return self._additive.each_needs_one

    def needs_several(self, step: Step) -> bool:
        """Whether the columns of a step are not told by its name."""
        return not self.steps_are_columns and step.columns != (step.name,) and not step.name.startswith("screen of ")

    @cached_property
    def _units(self) -> list[int]:
        """What a row can be asked for, in the order in which it is."""
        parts, unit = self.plan.demanded, self.plan.unit
        return list(dict.fromkeys((parts if unit.size == 0 else unit[parts]).tolist()))

    @property
    def n_steps(self) -> int:
        return len(self._units)

    @cached_property
    def curve(self) -> list[tuple[int, float]]:
        """How much was read of calibration rows, ascending, and the share of them that was decided by then."""
        stages, rows = self.certificate.by_stage, self.certificate.n_calibration
        shares = np.cumsum([stage.rows for stage in stages]) / rows
        return list(zip([stage.read for stage in stages], shares.tolist(), strict=True))

    @cached_property
    def by_step(self) -> bool:
        """Whether it is known after which step rows were decided: not of CSR rows, nor from files of format 1."""
        exits = {*self.plan.units_among(self.plan.checkpoints).tolist(), self.plan.n_to_the_end}
        known = bool(self.curve) and not self.certificate.stored
        return known and all(read in exits for read, _ in self.curve)

    @property
    def early(self) -> float | None:
        """The share of calibration rows that was decided before its end; None where that is not known."""
        if self.by_step:
            return self.decided(self.plan.n_to_the_end - 1)
        reads_all = not self.certificate.stored and self.certificate.features_per_row == self.certificate.n_features
        return 0.0 if reads_all or self.plan.checkpoints.size == 0 else None

    @property
    def decides_nothing(self) -> bool:
        """Whether no row is decided early, as far as the calibration rows tell."""
        return self.early == 0

    def decided(self, read: int) -> float:
        """Return the share of calibration rows that was decided after so many steps."""
        shares = [share for at, share in self.curve if at <= read]
        return shares[-1] if shares else 0.0

    def steps(self, most: int | None = None) -> list[Step]:
        """Return the first steps."""
        return list(self._steps(self._units[:most]))

    def _steps(self, units: Sequence[int]) -> Iterator[Step]:
        paid: set[int] = set()
        for number, unit in enumerate(units, 1):
            columns = self._columns_of(unit)
            purchases = dict.fromkeys(self._purchases(columns))
            new = [purchase for purchase in purchases if purchase not in paid]
            paid.update(new)
            yield Step(
                number,
                self._unit_name(unit, columns),
                tuple(self._name(column) for column in columns),
                tuple(self._groups[purchase] for purchase in purchases if purchase in self._groups),
                float(self._prices.price[new].sum()) if new else None,
                asked=max(1 - self.decided(number - 1), 0.0) if self.by_step else None,
                decided=self.decided(number) if self.by_step else None,
            )

    def columns(self) -> list[Column]:
        """Return the columns that a row can be asked for, in the order in which steps first need them."""
        first: dict[int, Step] = {}
        for step, unit in zip(self._steps(self._units), self._units, strict=True):
            for column in self._columns_of(unit):
                first.setdefault(column, step)
        return [
            Column(self._name(column), self._groups.get(purchase), float(self._prices.price[purchase]), step)
            for (column, step), purchase in zip(first.items(), self._purchases(list(first)), strict=True)
        ]

    def spent_per_row(self) -> float | None:
        """Return what the calibration rows would have cost, on average; of trees, at the most."""
        if not self.by_step:
            return None
        spent = np.cumsum([0.0, *(step.price or 0.0 for step in self._steps(self._units))])
        stages = self.certificate.by_stage
        return float(sum(stage.rows * spent[stage.read] for stage in stages) / self.certificate.n_calibration)

    @property
    def price_of_all(self) -> float:
        """What everything costs that a row can be asked for."""
        return float(sum(step.price or 0.0 for step in self._steps(self._units)))

    @cached_property
    def _first_part(self) -> NDArray[np.intp] | None:
        """The first part of each unit; None where each part is one."""
        return None if self.plan.unit.size == 0 else np.unique(self.plan.unit, return_index=True)[1]

    def _columns_of(self, unit: int) -> list[int]:
        part = unit if self._first_part is None else int(self._first_part[unit])
        columns: list[int] = self._additive.columns_of(np.array([part], dtype=np.intp)).tolist()
        return columns

    def _purchases(self, columns: list[int]) -> list[int]:
        purchases: list[int] = self._prices.purchase[columns].tolist()
        return purchases

    def _name(self, column: int) -> str:
        if self._names is None:
            return f"{'feature' if self.steps_are_columns else 'column'} {column}"
        return self._names[column]

    def _unit_name(self, unit: int, columns: list[int]) -> str:
        plan = self.plan
        if plan.of_trees:
            is_screen = unit >= plan.n_units - plan.n_screens
            return f"screen of {self._name(columns[0])}" if is_screen else f"tree {unit}"
        of_terms = getattr(self._additive, "unit_names", None)
        return self._name(unit) if of_terms is None else str(of_terms[unit])
