"""Every record as JSON, with the claims, for machines."""

import json
import math
from dataclasses import asdict
from typing import Any

from saccade.study.experiments.claims import claims
from saccade.study.experiments.findings import errata, open_question
from saccade.study.experiments.reproduction import Reproduction
from saccade.version import __version__


def as_json(reproduction: Reproduction) -> str:
    """Return a JSON object; values not measured are null."""
    measured = asdict(reproduction)
    del measured["ten_digits"]["reader"]  # weights and images, which the page carries
    content = {
        "version": __version__,
        "claims": [asdict(claim) for claim in claims(reproduction)],
        "errata": [asdict(erratum) for erratum in errata(reproduction)],
        "open_question": open_question(reproduction),
        **measured,
    }
    return json.dumps(_plain(content), ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """Return the value with NaN, which JSON does not know, as null."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
