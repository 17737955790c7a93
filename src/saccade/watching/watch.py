"""``Watch``: a certified model in production, and whether its promise still holds."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterable
from copy import copy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from saccade.asking.lazily import Asked, Fetch, Start, ask_all, ask_all_async, lazy_reading
from saccade.attentive import AttentiveClassifier
from saccade.exceptions import PromiseBrokenError, PromiseBrokenWarning, warn
from saccade.kernels.watching import toss
from saccade.models.additive import Additive
from saccade.promises.certificate import percent
from saccade.reading.inputs import checked_columns, codes_among, raise_not_finite
from saccade.reading.parameters import RANDOM_STATE, Kinds, check_parameters, instance, real, text
from saccade.reading.partitions import is_collection
from saccade.reading.plan import Plan
from saccade.reading.sources import Source
from saccade.reading.tables import take_rows
from saccade.terminal import printable
from saccade.watching.audit import Audit, audited_reading
from saccade.watching.metrics import metrics_of, prometheus
from saccade.watching.records import ClassWatch, WatchedLazyReading, WatchedReading
from saccade.watching.tally import State, Tally, numbers

__all__ = ["Watch"]

FORMAT = 1


class Watch:
    """Predict with a certified model, and audit its promise on a share of the rows.

    A coin per row, tossed before the row is read, picks those that are read in full as well. What is counted is whether
    their early label is the full model's; what is returned for them is the full model's, so that auditing makes no
    result worse. Evidence is valid at all times: look whenever you like.

    With ``promise="classes"`` every class is watched, what it loses and what it has false. ``promise="accuracy"`` is
    about true labels, which production does not have: disagreement with the full model is watched in its place. While
    it stays below delta, accuracy cannot have fallen by more; where it does not, it may still not have.

    A watch belongs to the plan and the parameters that it was made with: these cannot be changed, and once
    ``attentive`` is fitted again, rows are refused.

    Parameters
    ----------
    attentive : AttentiveClassifier, fitted
    share : float
        The share of rows that are audited. They cost what the full model costs, and need all of its columns.
    confidence : float
        1 minus the chance of a false alarm, within 30,000 audited rows whose disagreement is delta itself. Of this
        chance 85 % are for evidence on all rows, for ever; the others are for a detector of late changes, and grow
        with the number of rows.
    on_broken : {"warn", "read", "raise"}
        What happens when the promise is broken: a warning, once until the state changes; a warning, and every later
        row is read in full; or a PromiseBrokenError, which has the reading, and again with every later call.
    random_state : int, RandomState or None
        Decides the coins: the same rows are audited however they are split into batches.

    Attributes
    ----------
    state : {"holds", "open", "broken"}
        By what was counted so far, whether rows agree too rarely, over all of them or lately; or often enough over all
        of them; or neither is clear yet.
    lower_bound, upper_bound : float
        Bounds on the share of all rows whose early label is another, each valid at all times with this confidence.
    n_rows, n_audited, n_disagreements : int
    n_incomparable : int
        Rows that were to be audited but have a value that only the full model needs and that it cannot read, such as
        a missing one. They keep their early label.
    by_class : tuple of ClassWatch; empty unless the promise is by class
    audit_spent : float
        What audited rows of ``predict_lazily`` cost beyond what would have decided them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from saccade import Watch, attend
    >>> X, y = make_classification(8000, 100, n_informative=20, shuffle=False, random_state=0)
    >>> order = np.random.default_rng(0).permutation(8000)
    >>> model = LogisticRegression().fit(X[order[:3000]], y[order[:3000]])
    >>> attentive = attend(model, X[order[3000:7000]], delta=0.05, random_state=0)
    >>> watch = Watch(attentive, share=0.5, random_state=0)
    >>> labels = watch.predict(X[order[7000:]])
    >>> watch.state, watch.n_rows, 450 < watch.n_audited < 550
    ('open', 1000, True)
    """

    _kinds: ClassVar[Kinds] = {
        "attentive": [instance(AttentiveClassifier)],
        "share": [real(0, 1, ends=True)],
        "confidence": [real(0, 1)],
        "on_broken": [text({"warn", "read", "raise"})],
        "random_state": [RANDOM_STATE],
    }

    def __init__(
        self,
        attentive: AttentiveClassifier,
        *,
        share: float = 0.01,
        confidence: float = 0.95,
        on_broken: str = "warn",
        random_state: Any = None,
    ) -> None:
        self.attentive, self.share, self.confidence = attentive, share, confidence
        self.on_broken, self.random_state = on_broken, random_state
        check_parameters(self, self._kinds)
        check_is_fitted(attentive)
        self._model = copy(attentive)  # keeps its plan when attentive is fitted again
        self._seed = int(check_random_state(random_state).randint(2**31 - 1))
        self._tally = Tally(attentive.certificate_, attentive.classes_.tolist(), confidence)
        self._next_row, self._was_broken, self._all_in_full = 0, False, False
        self._coins = [0, 0]  # the number of the next row that is audited, and how many gaps were drawn
        self._lock = threading.RLock()

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._kinds and name in self.__dict__:
            raise AttributeError(
                f"{name!r} of a watch cannot be changed. Make a new one: Watch(attentive, {name}=...)."
            )
        super().__setattr__(name, value)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row: of audited rows the full model's."""
        return self._reading(X).label

    def read(self, X: Any) -> WatchedReading:
        """Return label, margin, number of features read, whether the reading stopped early, and whether it was audited.

        X must have all columns of the model, for audited rows are read in full.
        """
        return self._reading(X)

    def predict_lazily(self, fetch: Fetch, rows: Iterable[Any], *, concurrency: int = 1) -> WatchedLazyReading:
        """Predict rows whose features are fetched when the plan asks for them, and all features of audited rows.

        See ``AttentiveClassifier.predict_lazily``. The result also says which rows were audited, and what that cost.
        """
        start, chosen = self._lazy_start()
        return self._counted_lazily(ask_all(fetch, rows, concurrency, start), sum(chosen))

    async def predict_lazily_async(
        self, fetch: Fetch, rows: Iterable[Any], *, concurrency: int = 1
    ) -> WatchedLazyReading:
        """Do the same as ``predict_lazily`` in a running event loop."""
        start, chosen = self._lazy_start()
        return self._counted_lazily(await ask_all_async(fetch, rows, concurrency, start), sum(chosen))

    @property
    def state(self) -> State:
        with self._lock:
            return self._tally.state

    @property
    def lower_bound(self) -> float:
        with self._lock:
            return self._tally.bounds(0)[0]

    @property
    def upper_bound(self) -> float:
        with self._lock:
            return self._tally.bounds(0)[1]

    @property
    def n_rows(self) -> int:
        return self._tally.n_rows

    @property
    def n_audited(self) -> int:
        return self._tally.seen(0)[0]

    @property
    def n_disagreements(self) -> int:
        return self._tally.seen(0)[1]

    @property
    def n_incomparable(self) -> int:
        return self._tally.n_incomparable

    @property
    def audit_spent(self) -> float:
        return self._tally.audit_spent

    @property
    def by_class(self) -> tuple[ClassWatch, ...]:
        with self._lock:
            return self._tally.by_class

    @property
    def classes_(self) -> NDArray[Any]:
        return self._model.classes_

    @property
    def additive_(self) -> Additive:
        return self._model.additive_

    @property
    def plan_(self) -> Plan:
        return self._model.plan_

    def merge(self, other: "Watch") -> "Watch":
        """Add what a watch of another process has counted, once; return self.

        All counts, bounds and the evidence on all rows are then those of one process that saw all rows. Detectors of
        late changes add, too, which keeps the chance of a false alarm; but evidence of a change that every process sees
        lies apart in them, so the alarm may come later than in one process.
        """
        if not isinstance(other, Watch):
            raise TypeError(f"Expected a Watch; got {type(other).__name__}. Make one with Watch.from_json.")
        if other is self:
            raise ValueError("A watch cannot be merged with itself: its rows would count twice.")
        if self._fingerprint() != other._fingerprint():
            raise ValueError("The watches are of different models, or of different promises. Merge those of one model.")
        first, second = sorted((self, other), key=id)  # in one order, so that two threads do not wait for each other
        with first._lock, second._lock:
            self._tally.merge(other._tally)
            self._all_in_full |= other._all_in_full
        return self

    def _part(self, *key: int) -> "Watch":
        """Return a watch without counts for a part of the rows, to be merged; the key decides which are audited."""
        seed = int(np.random.default_rng([self._seed, *key]).integers(2**31 - 1))
        part = Watch(self._model, share=self.share, confidence=self.confidence, random_state=seed)
        part._all_in_full = self._all_in_full
        return part

    def to_json(self) -> str:
        """Return all counts as JSON from which ``Watch.from_json`` goes on, in another process or on another day."""
        with self._lock:
            return json.dumps(
                {
                    "saccade watch": FORMAT,
                    "model": self._fingerprint(),
                    "share": self.share,
                    "confidence": self.confidence,
                    "on_broken": self.on_broken,
                    "seed": self._seed,
                    "next_row": self._next_row,
                    "coins": self._coins,
                    "all_in_full": self._all_in_full,
                    **self._tally.to_dict(),
                }
            )

    @classmethod
    def from_json(cls, text: str, attentive: AttentiveClassifier) -> "Watch":
        """Return the watch that wrote this text, as it stood; it must be of the same model and promise."""
        try:
            stated = json.loads(text)
            if stated["saccade watch"] != FORMAT:
                raise ValueError(
                    f"it has format {stated['saccade watch']!r}, and this version of saccade reads {FORMAT}"
                )
            options = {name: stated[name] for name in ("share", "confidence", "on_broken")}
            watch = cls(attentive, **options)
            if stated["model"] != watch._fingerprint():
                raise ValueError("it is of another model, or of another promise")
            watch._tally.restore(stated)
            watch._seed, watch._next_row = (int(numbers(stated[name], 0)) for name in ("seed", "next_row"))
            watch._coins = numbers(stated["coins"], watch._coins).tolist()
            watch._all_in_full = bool(numbers(stated["all_in_full"], False))
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise ValueError(f"This is no watch of this model as to_json writes it: {str(error)[:200]}.") from error
        watch._was_broken = watch.state == "broken"
        return watch

    def metrics(self) -> dict[str, Any]:
        """Return all counts and bounds by name; those of classes as lists, one entry per class.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from saccade import AttentiveClassifier, Watch
        >>> X, y = make_classification(4000, 20, n_informative=6, random_state=0)
        >>> watch = Watch(AttentiveClassifier(delta=0.1, random_state=0).fit(X, y), share=0.5, random_state=0)
        >>> labels = watch.predict(X)
        >>> watch.metrics()["rows_total"], watch.metrics()["classes"][0]["label"]
        (4000, 0)
        """
        with self._lock:
            return metrics_of(self._tally)

    def metrics_text(self) -> str:
        """Return the same in Prometheus' text format."""
        return prometheus(self.metrics())

    def __repr__(self) -> str:
        return f"Watch({self.state!r}, n_rows={self.n_rows}, n_audited={self.n_audited}, share={self.share})"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock."""
        with self._lock:
            return {**self.__dict__, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    def _fingerprint(self) -> str:
        """Return what tells this model, its plan and its promise from others."""
        certificate = self._model.certificate_
        said = (self.classes_.tolist(), certificate.promise, certificate.delta)
        digest = hashlib.sha256(repr(said).encode())
        for values in self.plan_:
            digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()[:16]

    def _chosen(self, n_rows: int) -> NDArray[np.uint32]:
        """Toss the coins of the next rows; return the places of those that are audited."""
        if self._all_in_full:
            return np.arange(n_rows, dtype=np.uint32)
        rows = np.empty(n_rows, dtype=np.uint32)
        with self._lock:
            first, self._next_row = self._next_row, self._next_row + n_rows
            count, *self._coins = toss(self._seed, float(self.share), first, n_rows, *self._coins, rows)
        return rows[:count]

    def _source(self, X: Any) -> Source:
        return self._model._source(checked_columns(self._model, self._model._as_taken(X), None))

    def _reading(self, X: Any, *, skip_bad: bool = False) -> WatchedReading:
        if is_collection(X):
            raise TypeError(
                f"X is a Dask {type(X).__name__}: what its tasks count on other machines would be lost to this watch. "
                "Use saccade.predict_files(..., watch=watch, client=client), or predict each partition with a watch of "
                "its own and merge them."
            )
        self._check_usable()
        source = self._source(X)
        chosen = self._chosen(source.shape[0])

        def some(rows: NDArray[np.intp]) -> tuple[Any, Source]:
            taken = take_rows(X, rows)
            return taken, self._source(taken)

        audit = audited_reading(self._model, source, chosen, some)
        if audit.outcome.bad >= 0 and not skip_bad:
            raise_not_finite(self._model, source, audit.outcome.bad)
        return self._counted(audit)

    def _counted(self, audit: Audit) -> WatchedReading:
        with self._lock:
            audited, n_wrong = self._tally.add(audit)
        reading = WatchedReading.of(self.classes_, audit.outcome, audited=audited)
        reading.label[audited] = self.classes_[audit.codes[audited[audit.chosen]]]
        self._react(reading, n_wrong)
        return reading

    def _lazy_start(self) -> tuple[Callable[[], Start], list[bool]]:
        """Return how rows begin, and a list of which of them are chosen, which grows with each."""
        self._check_usable()
        early, full = self._model._questions(), self._model._questions_in_full()
        chosen: list[bool] = []

        def start() -> Start:
            chosen.append(self._chosen(1).size > 0)
            return Start(early, full if chosen[-1] else None)

        return start, chosen

    def _counted_lazily(self, asked: list[Asked], n_chosen: int) -> WatchedLazyReading:
        compared = [
            (row.early, row.full) if row.full and not (row.early.lacked or row.full.lacked) else None for row in asked
        ]
        pairs = [pair for pair in compared if pair is not None]
        audited = np.array([pair is not None for pair in compared], dtype=np.bool_)
        spent = float(sum(full.spent for _, full in pairs))
        reading = lazy_reading(self.classes_, asked)
        watched = WatchedLazyReading(**vars(reading), audited=audited, audit_spent=spent)
        labels = ([pair[k].label for pair in pairs] for k in range(2))
        codes = [codes_among(np.array(own, self.classes_.dtype), self.classes_).astype(np.int64) for own in labels]
        with self._lock:
            n_wrong = self._tally.add_lazily(n_chosen, watched, codes)
        self._react(watched, n_wrong)
        return watched

    def _check_usable(self) -> None:
        """Raise where no rows may be read: after another fit, or a broken promise if that raises."""
        if self.attentive.plan_ is not self._model.plan_ or self.attentive.certificate_ is not self._model.certificate_:
            raise RuntimeError(
                "The model was fitted again after this watch was made, so its counts are those of another plan. Make a "
                "new watch: Watch(attentive)."
            )
        if self.on_broken == "raise" and self.state == "broken":
            raise PromiseBrokenError(self._message())

    def _react(self, reading: Any, n_wrong: int) -> None:
        """Look whether the promise is broken, which only an error can make it."""
        if self._was_broken or n_wrong:
            self._answer(reading)

    def _answer(self, reading: Any) -> None:
        """Do what is to be done where the promise is broken."""
        with self._lock:
            was_broken, self._was_broken = self._was_broken, self._tally.is_broken
            if not self._was_broken:
                return
            self._all_in_full |= self.on_broken == "read"
            message = "" if was_broken and self.on_broken != "raise" else self._message()
        if self.on_broken == "raise":
            raise PromiseBrokenError(message, reading)
        if not was_broken:
            warn(message, PromiseBrokenWarning)

    def _message(self) -> str:
        """Say what is broken, by counts and bounds, and what to do about it."""
        with self._lock:
            tally, tests = self._tally, self._tally.broken_tests
            said = "; ".join(self._finding(test) for test in tests[:3])
            more = f"; and {len(tests) - 3} more" if len(tests) > 3 else ""
            now = " From here on every row is read in full." if self._all_in_full else ""
            return (
                f"The promise is broken, by {tally.seen(0)[0]:,} audited rows of {tally.n_rows:,}: {said}{more}.{now} "
                "Certify the model anew on rows such as these: saccade.attend."
            )

    def _finding(self, test: int) -> str:
        """Say what was counted in one test."""
        tally = self._tally
        (rows, errors), (lower, upper), level = tally.seen(test), tally.bounds(test), float(tally.counts.levels[test])
        of, what = "", "another label than the full model gives them"
        if test > 0:
            label = printable(tally.labels[(test - 1) // 2])
            of = f" that the full model labels {label}" if test % 2 else f" labelled {label} early"
            what = "another label early" if test % 2 else "another from the full model"
        late = "" if lower > level else ", and more lately"
        return (
            f"of {rows:,} rows{of}, {errors:,} have {what}{late}, a share between {percent(lower)} and "
            f"{percent(upper)}, where {percent(level)} was promised"
        )
