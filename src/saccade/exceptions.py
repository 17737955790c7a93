"""The warnings that saccade gives; its errors are ValueError and TypeError, as scikit-learn's users expect.

UserWarning
├── LevelNotHeldWarning     the audit measured more decision errors than the level allows
└── OtherVersionWarning     a model was pickled by another version of saccade
"""

__all__ = ["LevelNotHeldWarning", "OtherVersionWarning"]


class LevelNotHeldWarning(UserWarning):
    """The audit measured significantly more decision errors than the boundary's delta allows."""


class OtherVersionWarning(UserWarning):
    """A model was pickled by another version of saccade."""
