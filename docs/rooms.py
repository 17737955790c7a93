"""Draw which room imports which, into docs/design.md: ``python docs/rooms.py``; with ``--check`` only compare."""

import sys
from pathlib import Path

import grimp

PAGE = Path(__file__).parent / "design.md"
BEGIN, END = "<!-- rooms: made by docs/rooms.py -->", "<!-- rooms: end -->"
EVERYWHERE = {"exceptions", "terminal", "version"}  # imported from everywhere, and so not drawn


def imports() -> dict[str, set[str]]:
    """Return for each room those that it imports, directly."""
    graph = grimp.build_graph("saccade")
    rooms = {path.split(".")[1]: path for path in sorted(graph.find_children("saccade"))}
    return {
        room: {
            other
            for other, its_path in rooms.items()
            if other not in {room, *EVERYWHERE}
            and graph.direct_import_exists(importer=path, imported=its_path, as_packages=True)
        }
        for room, path in rooms.items()
        if room not in EVERYWHERE
    }


def below(room: str, direct: dict[str, set[str]]) -> set[str]:
    """Return all rooms that a room stands on."""
    return direct[room].union(*(below(other, direct) for other in direct[room]))


def drawing() -> str:
    """Return the graph in Mermaid's language; an arrow is left out where a longer way leads to the same room."""
    direct = imports()
    arrows = [
        f"    {room} --> {other}"
        for room in direct
        for other in sorted(direct[room])
        if not any(other in below(way, direct) for way in direct[room] - {other})
    ]
    return "\n".join([BEGIN, "```mermaid", "graph TD", *arrows, "```", END])


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    start, stop = text.index(BEGIN), text.index(END) + len(END)
    drawn = text[:start] + drawing() + text[stop:]
    if "--check" not in sys.argv:
        PAGE.write_text(drawn, encoding="utf-8")
    elif drawn != text:
        sys.exit("docs/design.md shows an old graph of the rooms. Draw it anew: python docs/rooms.py (make format)")
