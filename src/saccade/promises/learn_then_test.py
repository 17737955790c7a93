"""Learn-then-Test (Angelopoulos, Bates, Candes, Jordan and Lei 2021) with fixed-sequence testing.

Settings are tested one after another from the safest on, on rows that took no part in planning. The last setting before
the first failure is taken. This controls the error although a risk need not be monotone in the setting, and needs no
correction for the number of settings.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

__all__ = ["certify"]

Setting = TypeVar("Setting")


def certify(settings: Iterable[Setting], is_kept: Callable[[Setting], bool]) -> Setting | None:
    """Return the last setting, from the safest on, before one that may break the promise; None where all may."""
    accepted = None
    for setting in settings:
        if not is_kept(setting):
            break
        accepted = setting
    return accepted
