"""The warnings that saccade gives; its errors are mostly ValueError and TypeError, as scikit-learn's users expect.

::

    UserWarning
    ├── KernelsNotKeptWarning   compiled kernels cannot be kept, so each process compiles them anew
    ├── LevelNotHeldWarning     the audit measured more decision errors than the level allows
    ├── OtherVersionWarning     a model was pickled by another version of saccade
    └── PromiseBrokenWarning    audited rows say that a promise is broken in production
    ValueError
    ├── DataFileError           a file of rows cannot be read
    ├── ModelFileError          a file is no model that this version of saccade can load
    └── NotNumbersError         a column of a table holds something else than numbers
    RuntimeError
    └── PromiseBrokenError      audited rows say that a promise is broken, where that is to stop the work
"""

import inspect
import warnings
from typing import Any

from saccade.terminal import printable_lines

__all__ = [
    "DataFileError",
    "KernelsNotKeptWarning",
    "LevelNotHeldWarning",
    "ModelFileError",
    "NotNumbersError",
    "OtherVersionWarning",
    "PromiseBrokenError",
    "PromiseBrokenWarning",
]


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line that called into saccade."""
    level, caller = 1, inspect.currentframe()
    while caller is not None and caller.f_globals.get("__name__", "").partition(".")[0] == "saccade":
        level, caller = level + 1, caller.f_back
    warnings.warn(message, category, stacklevel=level)


class KernelsNotKeptWarning(UserWarning):
    """There is no folder that compiled kernels can be kept in, so that each process compiles them anew.

    Examples
    --------
    Name one that can be written, before saccade is imported: ``NUMBA_CACHE_DIR=/var/cache/service python service.py``.
    Where there can be none, as in a sandbox that lives once:

    >>> import warnings
    >>> from saccade.exceptions import KernelsNotKeptWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", KernelsNotKeptWarning)
    ...     from saccade import Pegasos
    """


class LevelNotHeldWarning(UserWarning):
    """The audit measured significantly more decision errors than the boundary's delta allows.

    Examples
    --------
    As an error, where a model that misses more than it was allowed to is not to be used:

    >>> import warnings
    >>> from sklearn.datasets import make_classification
    >>> from saccade import Pegasos
    >>> from saccade.exceptions import LevelNotHeldWarning
    >>> X, y = make_classification(4000, 200, n_informative=20, class_sep=2.0, random_state=0)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", LevelNotHeldWarning)
    ...     model = Pegasos(random_state=0).fit(X, y)
    >>> model.training_.decision_error < 0.15
    True
    """


class OtherVersionWarning(UserWarning):
    """A model was pickled by another version of saccade.

    Examples
    --------
    ``saccade.save`` and ``saccade.load`` keep models from one version to the next; a pickle is for the version that
    wrote it, and others can be refused:

    >>> import warnings
    >>> from saccade.exceptions import OtherVersionWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", OtherVersionWarning)  # within this block
    """


class _QuotingError(ValueError):
    """An error whose message quotes what somebody else may have written: names of files, of columns, and values."""

    def __str__(self) -> str:
        return printable_lines(super().__str__())


class DataFileError(_QuotingError):
    """A file of rows cannot be read; the message names the file, and the row if there is one.

    Examples
    --------
    >>> import saccade
    >>> from saccade.exceptions import DataFileError
    >>> try:
    ...     saccade.fit_files(saccade.Pegasos(), "no such file.csv", target="kind")
    ... except DataFileError as error:
    ...     print(error)
    There is no file no such file.csv.
    """


class ModelFileError(_QuotingError):
    """A file is no model that this version of saccade can load.

    Examples
    --------
    >>> import os, tempfile
    >>> import saccade
    >>> from saccade.exceptions import ModelFileError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.saccade")
    ...     with open(path, "w") as file:
    ...         _ = file.write("hello")
    ...     try:
    ...         saccade.load(path)
    ...     except ModelFileError as error:
    ...         print("it is a text file" in str(error))
    True
    """


class NotNumbersError(_QuotingError):
    """A column of a table holds something else than numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from saccade import Pegasos
    >>> from saccade.exceptions import NotNumbersError
    >>> try:
    ...     Pegasos().fit(pd.DataFrame({"kind": ["elm", "oak"] * 50}), [0, 1] * 50)
    ... except NotNumbersError as error:
    ...     print(str(error).partition(". ")[2])
    Encode it, for example with OneHotEncoder.
    """


class PromiseBrokenWarning(UserWarning):
    """Audited rows say that a certificate's promise is broken in production.

    Examples
    --------
    The rows that come in are no longer such as the calibration rows:

    >>> import warnings
    >>> from sklearn.datasets import make_classification
    >>> from saccade import AttentiveClassifier, Watch
    >>> X, y = make_classification(4000, 20, n_informative=6, random_state=0)
    >>> watch = Watch(AttentiveClassifier(delta=0.1, random_state=0).fit(X, y), share=1.0)
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     labels = watch.predict(X[:, ::-1])
    >>> caught[0].category.__name__, watch.state
    ('PromiseBrokenWarning', 'broken')
    """


class PromiseBrokenError(RuntimeError):
    """Audited rows say that a certificate's promise is broken in production.

    ``reading`` is what was read of the rows that were passed when it was seen; None where none were read.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from saccade import AttentiveClassifier, Watch
    >>> from saccade.exceptions import PromiseBrokenError
    >>> X, y = make_classification(4000, 20, n_informative=6, random_state=0)
    >>> attentive = AttentiveClassifier(delta=0.1, random_state=0).fit(X, y)
    >>> watch = Watch(attentive, share=1.0, on_broken="raise")
    >>> try:
    ...     labels = watch.predict(X[:, ::-1])
    ... except PromiseBrokenError as error:
    ...     labels = error.reading.label  # of these rows; of later ones none is read
    >>> len(labels)
    4000
    """

    def __init__(self, message: str, reading: Any = None) -> None:
        super().__init__(message)
        self.reading = reading
