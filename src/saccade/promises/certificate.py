"""Certificates: a promise with its evidence, as a record and as text."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from saccade.terminal import SAVES_NOTHING, printable

__all__ = ["Certificate", "ClassRecord", "StageRecord", "percent", "strictest"]

# A plan that reads at least this share of a row saves nothing worth mentioning.
NEARLY_ALL = 0.95


@dataclass(frozen=True)
class ClassRecord:
    """One class among the calibration rows.

    Examples
    --------
    >>> from saccade.promises.certificate import ClassRecord
    >>> record = ClassRecord("fraud", full=400, here=405, lost=4, false=9, attainable=0.0075)
    >>> record.lost_share, round(record.false_share, 4)
    (0.01, 0.0222)
    """

    label: Any  #: the class
    full: int  #: rows that the full model labels so
    here: int  #: rows labelled so here
    lost: int  #: of the first, those with another label here
    false: int  #: of the second, those with another label from the full model
    attainable: float  #: the least delta that so many rows could have promised, if all labels had been the same

    @property
    def lost_share(self) -> float:
        """``lost`` as a share of ``full``."""
        return self.lost / max(self.full, 1)

    @property
    def false_share(self) -> float:
        """``false`` as a share of ``here``."""
        return self.false / max(self.here, 1)


@dataclass(frozen=True)
class StageRecord:
    """The calibration rows that ended at one exit; of CSR rows, those of which as many values were read.

    Examples
    --------
    >>> from saccade.promises.certificate import StageRecord
    >>> StageRecord(read=3, rows=872, disagreements=21)
    StageRecord(read=3, rows=872, disagreements=21)
    """

    read: int  #: parts read of each; of CSR rows, stored values
    rows: int  #: how many ended there
    disagreements: int  #: labels that differ from the full model's


@dataclass(frozen=True)
class Certificate:
    """What is promised of new rows that are drawn like the calibration rows, which the model was not fitted on.

    With probability ``confidence`` over the calibration rows the promise holds at ``delta``. Only this is promised:
    the plan was chosen by the calibration rows, so the counts observed on them are slightly optimistic. That the model
    was not fitted on the calibration rows is not checked.

    Attributes
    ----------
    promise : {"classes", "rows", "accuracy"}
    delta : float, or dict of label to float
    confidence : float
    n_calibration : int
    disagreement : float
        The share of the calibration rows whose label differs from the full model's.
    features_per_row : float
        Parts read per calibration row; of CSR rows, stored values.
    n_features : int
        Parts of the model.
    by_class : tuple of ClassRecord
    by_stage : tuple of StageRecord
        In reading order.
    worse, better : int or None
        For ``promise="accuracy"``: calibration rows that only the full model labels rightly, and only this one.
    noun : {"features", "terms", "trees"}
        What a part is.
    stored_per_row : float or None
        Values that a calibration row stores, where rows are CSR.
    cost_per_row, cost_of_all : float or None
        The mean cost of the calibration rows, and that of all columns, where columns have costs or groups.

    Examples
    --------
    It is made by ``attend``, as ``certificate_``, and prints as text:

    >>> from saccade.promises.certificate import Certificate
    >>> print(Certificate("rows", 0.01, 0.95, 3000, disagreement=0.004, features_per_row=12.9, n_features=784))
    Certified at 95 % confidence, for rows drawn like the calibration rows:
      at most 1 % of all rows change label.
    Valid only if the model was not fitted on the calibration rows, which was not checked.
    Observed: 12 of 3,000 calibration rows changed label.
    Features read per row: 12.9 of 784.
    """

    promise: str
    delta: float | Mapping[Any, float]
    confidence: float
    n_calibration: int
    disagreement: float
    features_per_row: float
    n_features: int
    by_class: tuple[ClassRecord, ...] = field(default=(), repr=False)
    by_stage: tuple[StageRecord, ...] = field(default=(), repr=False)
    worse: int | None = None
    better: int | None = None
    noun: str = "features"
    stored_per_row: float | None = None
    cost_per_row: float | None = None
    cost_of_all: float | None = None

    @property
    def counted(self) -> str:
        """The unit of ``features_per_row``: features, terms, trees, or stored values of CSR rows."""
        return self.noun if self.stored_per_row is None else "stored values"

    @property
    def saves_nothing(self) -> bool:
        """Whether early exit saves less than a twentieth, of what is read and of what it costs."""
        available = self.n_features if self.stored_per_row is None else self.stored_per_row
        shares = [(self.features_per_row, available)]
        if self.cost_per_row is not None and self.cost_of_all is not None:
            shares.append((self.cost_per_row, self.cost_of_all))
        return all(part >= NEARLY_ALL * whole for part, whole in shares)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        """Return the certificate and a table of its classes, for notebooks."""
        head = "".join(f"<th>{title}</th>" for title in ("class", "rows", "lost", "labelled so early", "false"))
        rows = [(printable(own.label), own.full, own.lost, own.here, own.false) for own in self.by_class]
        body = "".join(f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in row)}</tr>" for row in rows)
        text = "<br>".join(map(escape, self._lines()))
        return f"<p>{text}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _lines(self) -> list[str]:
        available = f"{self.n_features:,}" if self.stored_per_row is None else f"{self.stored_per_row:.1f}"
        lines = [
            f"Certified at {percent(self.confidence)} confidence, for rows drawn like the calibration rows:",
            *(f"  {promised}" for promised in self._promised()),
            "Valid only if the model was not fitted on the calibration rows, which was not checked.",
            *self._observed(),
            f"{self.counted.capitalize()} read per row: {self.features_per_row:.1f} of {available}.",
        ]
        if self.cost_per_row is not None:
            lines.append(f"Expected cost per row: {_amount(self.cost_per_row)} of {_amount(self.cost_of_all or 0)}.")
        return [*lines, SAVES_NOTHING] if self.saves_nothing else lines

    def _promised(self) -> list[str]:
        if self.promise == "accuracy":
            points = f"{100 * strictest(self.delta):.3g}"
            return [f"the share of correct labels is at most {points} percentage points below the full model's."]
        if self.promise == "rows":
            return [f"at most {percent(strictest(self.delta))} of all rows change label."]
        most, same, which = "these shares", "the same shares", self._levels()
        if not isinstance(self.delta, Mapping):
            most = same = percent(self.delta)
            which = "for every class c"
        return [
            f"of the rows that the full model labels c, at most {most} change label ({which});",
            f"of the rows labelled c early, at most {same} disagree with the full model.",
        ]

    def _levels(self) -> str:
        levels = self.delta.items() if isinstance(self.delta, Mapping) else []
        return ", ".join(
            f"{printable(label)}: {percent(level) if level < 1 else 'no promise'}" for label, level in levels
        )

    def _observed(self) -> list[str]:
        changed = round(self.disagreement * self.n_calibration)
        seen = f"Observed: {changed:,} of {self.n_calibration:,} calibration rows changed label"
        if self.worse is not None and self.better is not None:
            seen += f", {self.worse:,} from a correct to a wrong one and {self.better:,} from a wrong to a correct one"
        lines = [seen + "."]
        if self.by_class:
            rarest = min(self.by_class, key=lambda record: record.full)
            most = max(self.by_class, key=lambda record: record.lost_share)
            lines.append(
                f"Rarest class ({printable(rarest.label)}): {rarest.lost:,} of {rarest.full:,} lost, "
                f"{rarest.false:,} of {rarest.here:,} labelled so early false."
            )
            if most is not rarest and most.lost:
                lines.append(f"Class that lost most ({printable(most.label)}): {most.lost:,} of {most.full:,}.")
        return lines


def _amount(cost: float) -> str:
    return f"{cost:.3g}" if cost < 1000 else f"{cost:,.0f}"


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else escape(str(value))


def strictest(delta: float | Mapping[Any, float]) -> float:
    """Return the level, or the smallest of several."""
    return min(delta.values()) if isinstance(delta, Mapping) else delta


def percent(share: float) -> str:
    """Return a share in per cent: three digits, or as many as it takes not to say 100.

    >>> percent(0.05), percent(0.0066123), percent(1 - 1e-12)
    ('5 %', '0.661 %', '99.9999999999 %')
    """
    shown = f"{100 * share:.3g}"
    return f"{shown} %" if share == 1 or float(shown) < 100 else f"{100 * share:.15g} %"
