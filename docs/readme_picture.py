"""Write docs/attention.svg, the README's picture: the page's own, with ink and paper of its own."""

from pathlib import Path

from saccade.study.experiments.attention import watch
from saccade.study.report.attention import picture

svg = picture(watch((2, 3), seed=0)).replace("currentColor", "#1d2329")
svg = svg.replace("<svg ", '<svg style="background: white" ', 1)
Path(__file__).with_name("attention.svg").write_text(svg, encoding="utf-8")
