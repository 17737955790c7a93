"""The warnings that saccade gives; its errors are mostly ValueError and TypeError, as scikit-learn's users expect.

::

    UserWarning
    ├── KernelsNotKeptWarning   compiled kernels cannot be kept, so each process compiles them anew
    ├── LevelNotHeldWarning     the audit measured more decision errors than the level allows
    ├── OneLabelWarning         a learner gives all rows one label
    ├── OtherVersionWarning     a model was pickled by another version of saccade
    ├── PromiseBrokenWarning    audited rows say that a promise is broken in production
    ├── SuspectColumnWarning    a column of a file is likely no feature, or not the one that it should be
    └── UnevenScalesWarning     features differ in scale by decades
    ValueError
    ├── CheckpointError         learning cannot go on from a checkpoint, or cannot keep one there
    ├── DataFileError           a file of rows cannot be read
    ├── ModelFileError          a file is no model that this version of saccade can load
    └── NotNumbersError         a column of a table holds something else than numbers
    RuntimeError
    └── PromiseBrokenError      audited rows say that a promise is broken, where that is to stop the work
"""

from typing import Any

__all__ = [
    "CheckpointError",
    "DataFileError",
    "KernelsNotKeptWarning",
    "LevelNotHeldWarning",
    "ModelFileError",
    "NotNumbersError",
    "OneLabelWarning",
    "OtherVersionWarning",
    "PromiseBrokenError",
    "PromiseBrokenWarning",
    "SuspectColumnWarning",
    "UnevenScalesWarning",
]


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


class OneLabelWarning(UserWarning):
    """A learner gives all rows that it was tried on the same label, where it was taught several.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from saccade import Pegasos
    >>> X, y = np.ones((1000, 5)), np.arange(1000) % 3 == 0  # features that tell nothing
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     model = Pegasos(random_state=0).fit(X, y)
    >>> caught[0].category.__name__
    'OneLabelWarning'
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


class UnevenScalesWarning(UserWarning):
    """Features differ in scale by decades, so that the largest ones decide alone.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from saccade import Pegasos
    >>> X = np.random.default_rng(0).normal(size=(1000, 3)) * [1e6, 1, 1e-3]
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     model = Pegasos(random_state=0).fit(X, X[:, 0] > 0)
    >>> caught[0].category.__name__
    'UnevenScalesWarning'
    """


class SuspectColumnWarning(UserWarning):
    r"""A column of a data file has no name, counts its rows, or has none of the categories that the model knows.

    Examples
    --------
    >>> import os, tempfile, warnings
    >>> import saccade
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True, action="always") as caught:
    ...     path = os.path.join(folder, "trees.csv")
    ...     with open(path, "w") as file:  # as pandas writes it, with its index
    ...         _ = file.write(",width,kind\n" + "".join(f"{i},{i % 7},{i % 2}\n" for i in range(200)))
    ...     model = saccade.learn(saccade.Pegasos(max_iter=1, random_state=0), path, target="kind")
    >>> "counts the rows" in str(caught[0].message)
    True
    """


class CheckpointError(ValueError):
    r"""Work on files cannot go on from where it was left, or cannot keep a checkpoint where it is told to.

    Examples
    --------
    >>> import os, tempfile
    >>> import saccade
    >>> from saccade.exceptions import CheckpointError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "trees.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("width,kind\n" + "1.0,elm\n3.0,oak\n" * 100)
    ...     try:
    ...         saccade.learn(saccade.Pegasos(), path, target="kind", checkpoint=os.path.join(folder, "no", "state"))
    ...     except CheckpointError as error:
    ...         print(str(error).endswith("cannot be written: No such file or directory."))
    True
    """


class DataFileError(ValueError):
    r"""A file of rows cannot be read; the message names the file, and the line where there is one.

    Examples
    --------
    >>> import os, tempfile
    >>> import saccade
    >>> from saccade.exceptions import DataFileError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "trees.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("width,kind\n1.0,elm\nwide,oak\n2.0,oak\n")
    ...     try:
    ...         list(saccade.rows(path, target="kind"))
    ...     except DataFileError as error:
    ...         print(str(error).partition("trees.csv, ")[2])
    line 3: 'width' is 'wide', not a number. Mend it, or pass over such rows: skip_bad=True, or --skip-bad.
    """


class ModelFileError(ValueError):
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
    ...         print("it is damaged, or no model file" in str(error))
    True
    """


class NotNumbersError(ValueError):
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
