"""Elements of the page about a model: the first rows of a table, and sections of one plot and one table at most."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from saccade.showing.words import shortened

__all__ = ["MOST_LISTED", "Cell", "Listing", "Section", "listed"]

# So many rows of a table are shown, and how many more there are is said; and so many characters of a name.
MOST_LISTED, LONGEST_NAME = 30, 400
# A number is a share, which is drawn as a bar, too.
Cell = str | float


@dataclass(frozen=True)
class Listing:
    """Rows under their headings; the first cell names the row."""

    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    words: Collection[str] = ()  # the headings under which there are words, rather than numbers
    more: int = 0  # rows that are not listed


@dataclass(frozen=True)
class Section:
    """A heading, some sentences, a plot and a table."""

    name: str
    title: str
    text: Sequence[str]
    listing: Listing | None = None
    svg: str = ""
    stands_out: bool = False  # whether the sentences are what readers came for


def listed(header: Sequence[str], rows: Iterable[Sequence[Cell]], count: int, words: Collection[str] = ()) -> Listing:
    """Return the first rows of so many."""
    shown = [[_shortened(cell) for cell in row] for row in islice(rows, MOST_LISTED)]
    return Listing(header, shown, words, max(count - MOST_LISTED, 0))


def _shortened(cell: Cell) -> Cell:
    return shortened(cell, LONGEST_NAME) if isinstance(cell, str) else cell
