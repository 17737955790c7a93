"""Draw the graph of rooms, which GitHub draws from Mermaid's language, as an SVG: no script, and none from elsewhere.

Rooms stand below each other, those that import above those that are imported; arrows are arcs at their side.
"""

from collections import defaultdict
from html import escape
from typing import Any, ClassVar

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

STEP, LEFT, WIDTH = 30, 12, 96  # between rooms; of a room's box
ARC = 16  # how far an arc reaches out for each room that it passes by


class Mermaid(SphinxDirective):
    """``graph TD`` with lines such as ``a --> b``, and nothing else of the language."""

    has_content: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        head, *lines = [line.strip() for line in self.content if line.strip()]
        arrows = [tuple(line.split(" --> ")) for line in lines]
        if head != "graph TD" or any(len(arrow) != 2 for arrow in arrows):
            raise self.error("Only 'graph TD' with lines such as 'a --> b' is drawn.")
        return [nodes.raw("", drawn(arrows), format="html")]


def in_order(arrows: list[tuple[str, ...]]) -> list[str]:
    """Return all rooms, each above those that it imports, as near to them as can be."""
    below = defaultdict(set)
    for room, other in arrows:
        below[room].add(other)

    def height(room: str) -> int:
        return 1 + max((height(other) for other in below[room]), default=-1)

    return sorted({room for arrow in arrows for room in arrow}, key=lambda room: (-height(room), room))


def drawn(arrows: list[tuple[str, ...]]) -> str:
    rooms = in_order(arrows)
    middle = {room: 20 + STEP * place for place, room in enumerate(rooms)}
    shapes = [
        f'<rect x="{LEFT}" y="{y - 10}" width="{WIDTH}" height="20" rx="4"/>'
        f'<text x="{LEFT + WIDTH / 2}" y="{y + 4}">{escape(room)}</text>'
        for room, y in middle.items()
    ]
    edge, reach = LEFT + WIDTH, 0
    for room, other in arrows:
        start, end = middle[room] + 4, middle[other] - 4
        out = ARC * (end - start + 8) // STEP
        reach = max(reach, out)
        shapes.append(f'<path d="M{edge},{start} C{edge + out},{start} {edge + out},{end} {edge + 4},{end}"/>')
        shapes.append(f'<path class="head" d="M{edge + 9},{end - 3.5} L{edge + 2},{end} L{edge + 9},{end + 3.5} Z"/>')
    width, height = edge + reach * 3 // 4 + 12, 20 + STEP * len(rooms) - 10
    said = "; ".join(f"{room} imports {other}" for room, other in arrows)
    return (
        f'<svg class="rooms" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(said)}">{"".join(shapes)}</svg>'
    )


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("mermaid", Mermaid)
    return {"parallel_read_safe": True}
