"""How a classifier is shown in a notebook: as scikit-learn shows it, and once it is certified, as a card."""

from collections.abc import Callable
from typing import Any

from sklearn import get_config

from saccade.showing.card import card

__all__ = ["ShowingMixin"]


class ShowingMixin:
    """The representations that IPython asks for, of a class that also is a scikit-learn ``BaseEstimator``.

    A pipeline that holds the classifier draws its diagram as before.
    """

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """Return the function that makes the card; the diagram's before ``fit``.

        Where scikit-learn displays texts, there is no such attribute.
        """
        diagram: Callable[[], str] = super()._repr_html_  # type: ignore[misc]
        return (lambda: card(self)) if self._is_certified() else diagram  # type: ignore[arg-type]

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        if not self._is_certified() or get_config()["display"] != "diagram":
            bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
            return bundle
        return {"text/plain": repr(self), "text/html": card(self)}  # type: ignore[arg-type]

    def _is_certified(self) -> bool:
        return hasattr(self, "certificate_")
