"""One self-contained HTML page."""

import base64
import hashlib

from saccade.study.experiments.claims import claims
from saccade.study.experiments.findings import errata
from saccade.study.experiments.reproduction import Reproduction, Size
from saccade.study.report import attention, comparison, drawing, pairs, question, walks
from saccade.study.report.templates import template, text_of
from saccade.version import __version__

PAPER = "Raphael Pelossof and Zhiliang Ying: Rapid Learning with Stochastic Focus of Attention. ICML 2011."


def render(reproduction: Reproduction) -> str:
    """Return the page as text."""
    script = "\n".join(text_of(f"scripts/{name}") for name in drawing.SCRIPTS)
    return template("page.html").render(
        reproduction=reproduction,
        short=reproduction.size != Size(),
        version=__version__,
        paper=PAPER,
        style=text_of("page.css") + text_of("drawing.css"),
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
