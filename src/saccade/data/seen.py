"""What the columns of a file hold, as types or the first rows tell: numbers, or texts."""

from typing import NamedTuple

__all__ = ["Seen", "first_rows"]

# So many rows of a CSV file tell what its columns hold; fewer where it has many columns, to take no time.
FIRST_ROWS, FEWEST_ROWS = 1_000, 50
FIRST_VALUES = 200_000


def first_rows(n_columns: int) -> int:
    """Return how many rows are looked at."""
    return min(FIRST_ROWS, max(FEWEST_ROWS, FIRST_VALUES // max(n_columns, 1)))


class Seen(NamedTuple):
    """How many values of a column are numbers and how many are texts, missing ones left out."""

    numbers: int = 0
    texts: int = 0
    example: str = ""  # the first text

    @property
    def is_text(self) -> bool:
        """Whether texts are what the column holds; a few among numbers are faults of their rows."""
        return self.texts > self.numbers

    def joined(self, other: "Seen") -> "Seen":
        return Seen(self.numbers + other.numbers, self.texts + other.texts, self.example or other.example)
