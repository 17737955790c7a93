"""The warnings that saccade gives; its errors are mostly ValueError and TypeError, as scikit-learn's users expect.

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
    """There is no folder that compiled kernels can be kept in, so that each process compiles them anew."""


class LevelNotHeldWarning(UserWarning):
    """The audit measured significantly more decision errors than the boundary's delta allows."""


class OneLabelWarning(UserWarning):
    """A learner gives all rows that it was tried on the same label, where it was taught several."""


class OtherVersionWarning(UserWarning):
    """A model was pickled by another version of saccade."""


class UnevenScalesWarning(UserWarning):
    """Features differ in scale by decades, so that the largest ones decide alone."""


class SuspectColumnWarning(UserWarning):
    """A column of a data file has no name, counts its rows, or has none of the categories that the model knows."""


class CheckpointError(ValueError):
    """Work on files cannot go on from where it was left, or cannot keep a checkpoint where it is told to."""


class DataFileError(ValueError):
    """A file of rows cannot be read; the message names the file, and the line where there is one."""


class ModelFileError(ValueError):
    """A file is no model that this version of saccade can load."""


class NotNumbersError(ValueError):
    """A column of a table holds something else than numbers."""


class PromiseBrokenWarning(UserWarning):
    """Audited rows say that a certificate's promise is broken in production."""


class PromiseBrokenError(RuntimeError):
    """Audited rows say that a certificate's promise is broken in production.

    ``reading`` is what was read of the rows that were passed when it was seen; None where none were read.
    """

    def __init__(self, message: str, reading: Any = None) -> None:
        super().__init__(message)
        self.reading = reading
