"""A certified model as a small piece of HTML, for notebooks: no script, nothing from outside, in the page's colours."""

import math
from html import escape

from saccade.promises.certificate import Certificate, ClassRecord
from saccade.showing.outline import Certified, Outline, Step
from saccade.showing.words import headline, milestones, price, share, shortened, why_nothing

__all__ = ["card"]

# So many classes and steps are listed, columns of a step, and characters of a name.
MOST_CLASSES, MOST_STEPS, MOST_COLUMNS, LONGEST_NAME = 5, 6, 4, 40
# The promise names every class where each has a level of its own.
LONGEST_SENTENCE = 1200
# Of the curve.
WIDTH, HEIGHT, MOST_POINTS = 280, 72, 80

FRAME = (
    "max-width:46em;padding:.8em 1em;border:1px solid rgba(128,128,128,.5);border-radius:.4em;line-height:1.45;"
    "overflow-wrap:anywhere"
)
ROW = "display:flex;flex-wrap:wrap;gap:.2em 2.5em;align-items:flex-start"
QUIET = "margin:.3em 0;opacity:.8;font-size:.9em"
CELL = "padding:.1em 1em .1em 0;text-align:left;vertical-align:top;background:none"
NUMBER = f"{CELL};white-space:nowrap"
HEAD = f"{CELL};overflow-wrap:normal"  # no heading is broken within a word


def card(model: Certified) -> str:
    """Return the certificate, the share of rows decided as a curve, and what is asked for first."""
    outline = Outline(model)
    reasons = why_nothing(model) if outline.decides_nothing else []
    said = "".join(_paragraph(_text(text, LONGEST_SENTENCE)) for text in (*reasons, str(outline.certificate)))
    seen = _classes(outline.certificate) + ("" if outline.decides_nothing else _curve(outline))
    return (
        f'<div class="saccade-card" style="{FRAME}">'
        f"{_paragraph(f'<strong>AttentiveClassifier.</strong> {escape(headline(outline))}')}{said}"
        f'<div style="{ROW}">{seen}</div>{_asked(outline)}</div>'
    )


def _paragraph(html: str) -> str:
    return f'<p style="margin:0 0 .5em">{html}</p>'


def _text(text: str, most: int = LONGEST_NAME) -> str:
    return escape(shortened(text, most))


def _classes(certificate: Certificate) -> str:
    """Return a table of the classes, of many those that lost most."""
    records = certificate.by_class
    if not records:
        return ""
    listed = records if len(records) <= MOST_CLASSES else sorted(records, key=_loss, reverse=True)[:MOST_CLASSES]
    more = len(records) - len(listed)
    rows = [
        [_text(str(r.label)), f"{r.full:,}", _counted(r.lost, r.lost_share), _counted(r.false, r.false_share)]
        for r in listed
    ]
    below = f"and {more:,} more that lost no larger share" if more else ""
    return _table(["class", "rows", "lost", "false"], rows, below)


def _loss(record: ClassRecord) -> float:
    return record.lost_share


def _counted(count: int, part: float) -> str:
    return f"{count:,} ({100 * part:.2g} %)" if count else "0"


def _asked(outline: Outline) -> str:
    """Return a table of what is asked for first."""
    heads = ["asked for first", *(["price"] if outline.priced else []), *(["rows decided by then"] * outline.by_step)]
    more = outline.n_steps - MOST_STEPS
    rows = [_cells(outline, step) for step in outline.steps(MOST_STEPS)]
    return _table(heads, rows, f"and {more:,} more" if more > 0 else "")


def _cells(outline: Outline, step: Step) -> list[str]:
    about = list(step.columns[:MOST_COLUMNS]) if outline.needs_several(step) else []
    about += ["…"] if about and len(step.columns) > MOST_COLUMNS else []
    about += [f"group {group}" for group in step.groups]
    name = _text(step.name) + (f" ({', '.join(map(_text, about))})" if about else "")
    cells = [f"{step.number}. {name}"]
    if outline.priced:
        cells.append(price(step.price))
    if step.decided is not None:
        cells.append(escape(share(step.decided)))
    return cells


def _table(heads: list[str], rows: list[list[str]], below: str) -> str:
    """Return cells, which are HTML, under their headings; the first of a row is a name, the others are numbers."""
    styles = [CELL, *[NUMBER] * (len(heads) - 1)]
    lines = ["".join(f'<th scope="col" style="{HEAD}">{name}</th>' for name in heads)]
    for row in rows:
        lines.append("".join(f'<td style="{style}">{cell}</td>' for style, cell in zip(styles, row, strict=True)))
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    said = f'<p style="{QUIET}">{below}</p>' if below else ""
    return f'<div><table style="margin:0 0 .3em;border-collapse:collapse">{body}</table>{said}</div>'


def _curve(outline: Outline) -> str:
    """Return the share of rows decided by how much was read, on a scale of logarithms, as a line."""
    points = outline.curve
    if not points:
        return f'<p style="{QUIET}">How soon rows were decided is not known: the model is from a file of format 1.</p>'
    last = max(points[-1][0], 1)
    path, height = ["M0 0"], 0.0
    for read, part in points[:: -(-len(points) // MOST_POINTS)] + points[-1:]:
        x = WIDTH * math.log1p(read) / math.log1p(last)
        path.append(f"L{x:.0f} {height:.0f}L{x:.0f} {HEIGHT * part:.0f}")
        height = HEIGHT * part
    said = escape(milestones(outline))
    return (
        f'<div style="max-width:{WIDTH}px"><svg role="img" aria-label="{said}" width="{WIDTH}" height="{HEIGHT + 4}" '
        f'viewBox="0 -2 {WIDTH} {HEIGHT + 4}" style="display:block;max-width:100%;overflow:visible">'
        f'<g transform="matrix(1 0 0 -1 0 {HEIGHT})" fill="none" stroke="currentColor">'
        f'<path d="M0 {HEIGHT}H{WIDTH}M0 0H{WIDTH}" stroke-opacity=".3"/>'
        f'<path d="{"".join(path)}" stroke-width="2" stroke-linejoin="round"/></g></svg>'
        f'<p style="{QUIET}">{said}</p></div>'
    )
