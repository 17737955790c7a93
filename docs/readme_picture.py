"""Write docs/attention.svg, the README's picture, from the experiments' page: ``python -m docs.readme_picture``."""

from pathlib import Path

from reproduction.attention import watch
from reproduction.sections import attention

[exhibit] = attention(watch((2, 3), seed=0)).exhibits
svg = exhibit.svg.replace("currentColor", "#1d2329").replace("<svg ", '<svg style="background: white" ', 1)
Path(__file__).with_name("attention.svg").write_text(svg, encoding="utf-8")
