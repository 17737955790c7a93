"""Every record as JSON, with the claims, for machines."""

import json
import math
from dataclasses import asdict
from typing import Any

from saccade.study.experiments.claims import claims
from saccade.study.experiments.findings import errata, open_question
from saccade.study.experiments.reproduction import Reproduction
from saccade.version import __version__


def as_json(found: Reproduction) -> str:
    """Return one JSON object; what was not measured is null."""
    content = {
        "version": __version__,
        "claims": [asdict(claim) for claim in claims(found)],
        "errata": [asdict(erratum) for erratum in errata(found)],
        "open_question": open_question(found),
        **asdict(found),
    }
    return json.dumps(_plain(content), ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """Return the value with NaN, which JSON does not know, as null."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
