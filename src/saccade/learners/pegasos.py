"""Pegasos: a linear support vector machine learned by stochastic subgradient steps."""

from typing import Any, ClassVar, Literal

from saccade.kernels.state import ALGORITHM1, PEGASOS
from saccade.kernels.updates import RELATIVE
from saccade.learners.classifier import AttentiveLearner
from saccade.learners.online import UpdateRule
from saccade.planning.boundaries import Boundary
from saccade.reading.parameters import BOOLEAN, NONE, Kinds, real, text

__all__ = ["Pegasos"]


class Pegasos(AttentiveLearner):
    """Attentive, Budgeted or full Pegasos, by the choice of the boundary.

    Pegasos (Shalev-Shwartz, Singer, Srebro and Cotter 2010) minimises lam/2 ||w||^2 + the mean hinge loss. Attentive
    Pegasos (Pelossof and Ying 2011) does not read an example to its end once the boundary says that its margin will be
    above 1, where it would not move the weights.

    Parameters
    ----------
    lam : float or None, default=None
        The strength of the regularisation, with steps 1 / (lam t). None sets it to 5e-5 times the mean squared norm of
        the rows that move the weights, so that the scale of the features matters little (an intercept is the weight
        of a feature 1, beside which features of a thousandth are slow to learn), and takes smaller first steps:
        1 / (lam (t + 20,000)).
    boundary : {"full", "constant", "curved"} or a boundary, default="curved"
        When to stop reading: ``Full()``, ``Budget(k)``, ``ConstantSTST(delta, form)``, ``CurvedSTST(delta, tail)``.
        Pass an object, not a name, to search over ``boundary__delta``.
    order : {"natural", "permuted", "sampled", "sampled-printed", "sorted"}, default="sorted"
        Which feature is read next. While learning, "sorted" follows the weights as they move, to a sixteenth of an
        octave; with the curved boundary and an audit, the weights times the standard deviations of their features.
    max_iter : int, default=20
        Passes over the rows of ``fit``, at the most.
    tol : float or None, default=1e-3
        Stop where the mean loss over a pass, as met while learning, was not ``tol`` below the best one for
        ``n_iter_no_change`` passes, as SGDClassifier does; examples that were filtered count as without loss. None
        makes all passes.
    n_iter_no_change : int, default=5
    average : bool, default=True
        Average the weights over the steps, with weights proportional to the step's number.
    fit_intercept : bool, default=True
        Learn an intercept, as the weight of a constant feature 1, regularised like the others.
    project : bool, default=True
        After each update, project the weights onto the ball of radius 1 / sqrt(lam).
    rule : {"pegasos", "algorithm1"}, default="pegasos"
        "pegasos" updates where the margin is below 1 and shrinks the weights at every step; "algorithm1", as the paper
        prints it, updates on every example that was not filtered and does nothing on a filtered one.
    audit : float, default=0.02
        The share of examples that is read to the end although they would be filtered. They measure the decision error,
        and a multiplier on boundary and memory follows it. 0 switches it off, which is the paper's own behaviour, and
        the memory with it.
    cost : {"time", "features"}, default="time"
        What filtering is to save. "time": the margin of every example is remembered, and in later passes those that are
        still clear are skipped unread (from 500,000 values on, for 8 bytes a row and class; also with ``warm_start`` on
        the same rows); the boundary stops walks only where rows are so wide that it
        pays. "features": every example is walked over and nothing is remembered, as in the paper. Sparse rows are never
        walked over.
    shuffle : bool, default=True
        Shuffle the rows before each pass of ``fit``.
    class_weight : dict, "balanced" or None, default=None
    warm_start : bool, default=False
        Let ``fit`` go on from where the last one ended, with its step size.
    n_jobs : int or None, default=None
        Threads for the one-against-rest learners of more than two classes.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    coef_ : array of shape (1, features) or (classes, features)
    intercept_ : array of shape (1,) or (classes,)
    classes_ : array of shape (classes,)
    n_iter_ : int
        The passes of the last ``fit``.
    t_ : int
        The step that the schedule has reached; it begins at 1, and the first example is step 2.
    training_ : TrainingRecord
        ``n_examples``, ``n_filtered``, ``n_skipped``, ``n_updates``, ``n_read``, ``n_read_filtered``, ``n_audited``,
        ``decision_error``, ``features_per_example``, ``features_per_filtered``.
    plans_ : list of Plan
        The plans that ``read`` follows: one for two classes, else one per class.
    variances_ : array of shape (1, 2, features) or (classes, 2, features)
        The variances of the features outside and inside of the class, estimated from the values read; 0 features if
        the boundary never stops.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from saccade import Pegasos
    >>> X, y = make_classification(4000, 200, n_informative=20, class_sep=2.0, random_state=0)
    >>> model = Pegasos(random_state=0).fit(X, y)
    >>> bool(model.training_.n_skipped > model.training_.n_examples / 2)
    True
    >>> bool(model.read(X).n_read.mean() < 200)
    True
    """

    def __init__(
        self,
        lam: float | None = None,
        *,
        boundary: str | Boundary = "curved",
        order: str = "sorted",
        max_iter: int = 20,
        tol: float | None = 1e-3,
        n_iter_no_change: int = 5,
        average: bool = True,
        fit_intercept: bool = True,
        project: bool = True,
        rule: Literal["pegasos", "algorithm1"] = "pegasos",
        audit: float = 0.02,
        cost: Literal["time", "features"] = "time",
        shuffle: bool = True,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.lam = lam
        self.boundary = boundary
        self.order = order
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.average = average
        self.fit_intercept = fit_intercept
        self.project = project
        self.rule = rule
        self.audit = audit
        self.cost = cost
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    _kinds: ClassVar[Kinds] = {
        **AttentiveLearner._kinds,
        "lam": [real(0), NONE],
        "project": [BOOLEAN],
        "rule": [text({"pegasos", "algorithm1"})],
    }

    def _update_rule(self) -> UpdateRule:
        code = ALGORITHM1 if self.rule == "algorithm1" else PEGASOS
        if self.lam is None:
            return UpdateRule(code, 0.0, theta=1.0, project=self.project, delay=1 / RELATIVE)
        return UpdateRule(code, self.lam, theta=1.0, project=self.project)
