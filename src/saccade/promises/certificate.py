"""What is vouched for, in figures and as a sentence."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Certificate", "ClassRecord", "StageRecord", "percent", "strictest"]


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
    """What is promised of new rows such as the calibration rows, which the model must not have been fitted on.

    With probability ``confidence`` over the calibration rows the promise holds at ``delta``. Only this is promised:
    the other figures are what was seen on the rows that the plan was chosen by, so they are flattered a little.

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
        Empty for a model file of an older format.
    by_stage : tuple of StageRecord
        In reading order; empty likewise.
    worse, better : int or None
        For ``promise="accuracy"``: calibration rows that only the full model labels rightly, and only this one.
    noun : {"features", "terms", "trees"}
        What a part is.
    stored : bool
        Whether it was of CSR rows, so that what was read is counted in stored values.

    Examples
    --------
    It is made by ``attend``, as ``certificate_``, and prints as a sentence:

    >>> from saccade.promises.certificate import Certificate
    >>> print(Certificate("rows", 0.01, 0.95, 3000, disagreement=0.004, features_per_row=12.9, n_features=784))
    With 95 % confidence, of new rows such as the calibration rows, which the model must not have been fitted on, at \
most 1 % get another label than the full model gives them. 0.4 % of 3,000 calibration rows got another label. 12.9 of \
784 features were read per row.
    """

    promise: str
    delta: float | Mapping[Any, float]
    confidence: float
    n_calibration: int
    disagreement: float
    features_per_row: float
    n_features: int
    by_class: tuple[ClassRecord, ...] = ()
    by_stage: tuple[StageRecord, ...] = ()
    worse: int | None = None
    better: int | None = None
    noun: str = "features"  # what a part is
    stored: bool = False  # whether stored values of CSR rows are counted, rather than parts

    def __str__(self) -> str:
        rows = "new rows such as the calibration rows, which the model must not have been fitted on"
        sentences = [f"With {percent(self.confidence)} confidence, of {rows}, {self.promised}."]
        if self.disagreement == 0 and self.features_per_row == self.n_features:
            sentences.append(f"Every {self.noun[:-1]} is read for every row, so no label differs.")
        else:
            sentences.append(self._seen())
        sentences.append(f"{self.features_per_row:.1f} of {self.n_features:,} {self.noun} were read per row.")
        return " ".join(sentences)

    @property
    def promised(self) -> str:
        """What is promised of new rows, as a part of a sentence."""
        if isinstance(self.delta, Mapping):
            each = ", ".join(f"class {label} {percent(level)}" for label, level in self.delta.items())
            return (
                f"at most these shares of a class get another label than the full model gives them, and at most these "
                f"shares of the rows labelled so here have another from it: {each}"
            )
        level = percent(self.delta)
        if self.promise == "classes":
            return (
                f"at most {level} of each class get another label than the full model gives them, and of those given "
                f"any one label here at most {level} have another from the full model"
            )
        if self.promise == "accuracy":
            return f"at most {level} fewer get the right label than the full model labels rightly"
        return f"at most {level} get another label than the full model gives them"

    def _seen(self) -> str:
        seen = f"{percent(self.disagreement)} of {self.n_calibration:,} calibration rows got another label"
        if self.worse is not None and self.better is not None:
            seen += f", {self.worse:,} of them a wrong one for a right one and {self.better:,} the reverse"
        if not self.by_class:
            return seen + "."
        rarest = min(self.by_class, key=lambda record: record.full)
        seen += f"; of the rarest class ({rarest.label}) {rarest.lost:,} of {rarest.full:,} rows were lost"
        seen += f", and {rarest.false:,} of {rarest.here:,} labelled so were false"
        most = max(self.by_class, key=lambda record: record.lost_share)
        if most is not rarest and most.lost:
            seen += f". Class {most.label} lost most, {percent(most.lost_share)}"
        return seen + "."


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
