"""One self-contained HTML page."""

import base64
import hashlib
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

from saccade.study.experiments.claims import claims
from saccade.study.experiments.findings import errata
from saccade.study.experiments.reproduction import Reproduction, Size
from saccade.study.report import attention, comparison, drawing, pairs, question, walks
from saccade.version import __version__

PAPER = "Raphael Pelossof and Zhiliang Ying: Rapid Learning with Stochastic Focus of Attention. ICML 2011."


def render(reproduction: Reproduction) -> str:
    """Return the page as text."""
    environment = Environment(
        loader=PackageLoader("saccade.study", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = "\n".join(_text(f"scripts/{name}") for name in drawing.SCRIPTS)
    return environment.get_template("page.html").render(
        reproduction=reproduction,
        short=reproduction.size != Size(),
        version=__version__,
        paper=PAPER,
        style=_text("page.css") + _text("drawing.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(f"\n{script}\n".encode()).digest()).decode(),
        drawing=drawing.content(reproduction.ten_digits),
        drawing_words=drawing.words(reproduction.ten_digits),
        first=attention.section(reproduction.attention),
        claims=claims(reproduction),
        errata=errata(reproduction),
        sections=[
            walks.section(reproduction),
            comparison.section(reproduction, "paper"),
            comparison.section(reproduction, "honest"),
            pairs.section(reproduction),
            question.section(reproduction),
        ],
    )


def _text(name: str) -> str:
    return files("saccade.study.report").joinpath(name).read_text(encoding="utf-8")
