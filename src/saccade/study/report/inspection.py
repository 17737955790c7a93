"""One self-contained page about a model: what it promises, how soon rows are decided, and what is asked, in order."""

import reprlib
from functools import partial
from typing import Any

from saccade.showing.outline import Outline
from saccade.showing.words import headline, share
from saccade.study.report.certified import certified_sections
from saccade.study.report.learned import learned_sections
from saccade.study.report.listing import Listing, Section
from saccade.study.report.templates import template, text_of
from saccade.version import __version__

__all__ = ["render"]


def render(model: Any, name: str) -> str:
    """Return the page about a fitted ``AttentiveClassifier``, or a learner, that a file of this name holds."""
    certified = hasattr(model, "certificate_")
    return template("inspection.html").render(
        name=name,
        headline=headline(Outline(model)) if certified else f"A {type(model).__name__}, which promises nothing yet.",
        sections=[*(certified_sections(model) if certified else learned_sections(model, name)), _settings(model)],
        style=text_of("page.css") + text_of("inspection.css"),
        version=__version__,
        share=share,
        zip=partial(zip, strict=True),
    )


def _settings(model: Any) -> Section:
    parameters = {key: value for key, value in model.get_params(deep=False).items() if key != "estimator"}
    rows = [["class", type(model).__name__], ["labels", reprlib.repr(model.classes_.tolist())]]
    rows += [["columns", f"{model.n_features_in_:,}"]]
    rows += [[key, reprlib.repr(value)] for key, value in parameters.items()]
    text = ["The parameters that it was given; None leaves it to saccade."]
    return Section("settings", "How it was made", text, Listing(["parameter", "value"], rows, words=["value"]))
