"""Render the results as one self-contained HTML page."""

import base64
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from numpy.typing import ArrayLike, DTypeLike

import saccade
from reproduction import sections
from reproduction.claims import claims
from reproduction.experiments import Results, Size
from reproduction.findings import errata
from reproduction.mnist import N_PIXELS
from reproduction.ten_digits import TenDigits

TEMPLATES = Path(__file__).parent / "templates"
STYLES = ("page.css", "pad.css")
SCRIPTS = ("reader.js", "strokes.js", "pad.js", "walk.js", "watch.js", "tables.js")  # each uses those before it
# The arrays of a plan that the reader in reader.js unpacks, and their types.
PLAN = {
    **dict.fromkeys(("order", "checkpoints", "first", "begins"), np.uint32),
    **dict.fromkeys(("weights", "coef"), np.float32),
    **dict.fromkeys(("shift", "upper", "intercept"), np.float64),
}


def render(results: Results) -> str:
    """Return the page as text."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style, script = ("\n".join(text_of(name) for name in names) for names in (STYLES, SCRIPTS))
    return environment.get_template("page.html").render(
        results=results,
        short=results.size != Size(),
        version=saccade.__version__,
        style=style,
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(f"\n{script}\n".encode()).digest()).decode(),
        pad=pad_content(results.ten_digits),
        pad_words=pad_words(results.ten_digits),
        first=sections.attention(results.attention),
        claims=claims(results),
        errata=errata(results),
        sections=[
            sections.walks(results),
            sections.comparison(results, "paper"),
            sections.comparison(results, "honest"),
            sections.question(results),
        ],
    )


def text_of(name: str) -> str:
    """Return a style sheet or a script."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def pad_content(ten: TenDigits) -> dict[str, Any]:
    """Return the data of the scripts: the plan, and test digits to choose from."""
    return {
        "plan": packed_plan(ten.model.plan_),
        "images": packed(ten.images, np.uint8),
        "labels": ten.labels.tolist(),
        "kinds": ("easy", "typical", "hard"),  # ten digits each
        "begin": 13,  # the test digit that is read first: a typical three
    }


def packed_plan(plan: Any) -> dict[str, str]:
    """Return the arrays of a plan of several scores as texts."""
    return {name: packed(getattr(plan, name), dtype) for name, dtype in PLAN.items()}


def packed(array: ArrayLike, dtype: DTypeLike) -> str:
    """Return an array's little-endian bytes as base64."""
    content = np.asarray(array, dtype=np.dtype(dtype).newbyteorder("<"))
    return base64.b64encode(content.tobytes()).decode()


def pad_words(ten: TenDigits) -> str:
    """Say how well the classifier of ten digits does, and what is certified."""
    return (
        f"Of 10,000 test digits it reads {ten.features:.0f} of {N_PIXELS} pixels on average; {ten.changed:.1f} % get "
        f"another label than from all pixels, and {100 - ten.error_stopped:.1f} % the right one, against "
        f"{100 - ten.error_full:.1f} % from all pixels. Its certificate says that at most {100 * ten.delta:.0f} % of "
        "any digit's images change their label. That holds for images like MNIST's; a drawing is made to look like "
        "them, but comes from elsewhere. All images, drawings too, are set upright before they are read: the ink is "
        "centred, as in MNIST, and sheared until it does not lean."
    )
