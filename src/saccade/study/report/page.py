"""One self-contained HTML page."""

from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

from saccade.study.experiments.claims import claims
from saccade.study.experiments.findings import errata
from saccade.study.experiments.reproduction import Reproduction, Size
from saccade.study.report import attention, comparison, pairs, question, walks
from saccade.version import __version__

PAPER = "Raphael Pelossof and Zhiliang Ying: Rapid Learning with Stochastic Focus of Attention. ICML 2011."


def render(found: Reproduction) -> str:
    """Return the page as text."""
    environment = Environment(
        loader=PackageLoader("saccade.study", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html").render(
        found=found,
        short=found.size != Size(),
        version=__version__,
        paper=PAPER,
        style=files("saccade.study.report").joinpath("page.css").read_text(encoding="utf-8"),
        claims=claims(found),
        errata=errata(found),
        sections=[
            attention.section(found.attention),
            walks.section(found),
            comparison.section(found, "paper"),
            comparison.section(found, "honest"),
            pairs.section(found),
            question.section(found),
        ],
    )
