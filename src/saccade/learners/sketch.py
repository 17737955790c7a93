"""A sketch of the rows that a learner learned from: hashes of a sample, by which its training rows are recognised.

Which rows are sampled depends on their places in the stream alone, so that the others need not be touched, and the same
stream gives the same sketch however it is split.

Rows may coincide by chance, where features have few values. Let X have M rows and the sketch s, all drawn alike. Of the
contents that occur exactly twice among these M + s rows, a share 2 M s / (M + s)^2 then occurs once on either side: for
a content of probability f the chances of (1, 1), (2, 0) and (0, 2) are Poisson, and proportional to M s, M^2 / 2 and
s^2 / 2, whatever f is. Significantly more on either side than twice on one means that rows of X were learned from. A
learner that has seen its rows several times has contents twice in its sketch for another reason; so X is also tested
without these: a content that occurs once in X is expected in the sketch at most 2 s / M times as often as one occurs
twice in X. Neither test needs to know the distribution of the rows.
"""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import bdtrc

from saccade.kernels.hashing import choose_rows, fill_keys, hash_dense, hash_sparse
from saccade.reading.inputs import Rows
from saccade.reading.sparse import stored_arrays

__all__ = ["RowSketch", "hash_rows"]

Hashes = NDArray[np.uint64]

# Of a stream this share of the rows is kept, but no fewer and no more than these numbers, give or take some. Hashing a
# row takes half the time of learning from it, so that this adds 5 to 8 % to a pass over 12,000 rows of 784 float32.
SHARE, FEWEST, MOST = 1 / 12, 1024, 4096
# The chance, in each of two tests, that rows which coincide with training rows by chance are taken for training rows.
FALSE_ALARM = 0.005
# So many contents on either side and none twice on one side have a chance below 1 % whatever is expected of them: the
# largest of exp(-m) P(Poisson(m) >= 5). Most data are of this kind: rows of measured values never coincide.
ENOUGH = 5
ALL = np.uint64(2**64 - 1)


@dataclass(frozen=True)
class RowSketch:
    """Hashes of a sample of the rows of a stream; ``add`` returns the sketch of a longer stream.

    Examples
    --------
    >>> import numpy as np
    >>> from saccade.learners.sketch import RowSketch
    >>> rows = np.random.default_rng(0).normal(size=(100, 5))
    >>> RowSketch().add(rows[:60]).share_of(rows)
    0.6
    """

    n_rows: int = 0  # of the stream
    priorities: Hashes = field(default_factory=lambda: np.empty(0, np.uint64))  # of the rows that are kept
    hashes: Hashes = field(default_factory=lambda: np.empty(0, np.uint64))

    def add(self, X: Rows) -> "RowSketch":
        """Return the sketch with some more rows: an array or a CSR matrix that was checked."""
        n_rows = self.n_rows + X.shape[0]
        return self.followed_by(RowSketch(n_rows, *_sampled(X, self.n_rows, _limit(n_rows))))

    def followed_by(self, later: "RowSketch") -> "RowSketch":
        """Return the sketch of a stream of which this one is the beginning, and another one the rest.

        The other one began as a sketch without rows of as long a stream: ``RowSketch(n_rows).add(X)``.
        """
        kept = self.priorities < _limit(later.n_rows)
        return RowSketch(
            later.n_rows,
            np.append(self.priorities[kept], later.priorities),
            np.append(self.hashes[kept], later.hashes),
        )

    def share_of(self, X: Rows) -> float:
        """Return the share of rows that are in the sketch."""
        return float(np.isin(hash_rows(X), self.hashes).mean())

    def recognises(self, hashes: Hashes) -> bool:
        """Whether more of these rows are in the sketch than chance would have there."""
        own, own_counts = np.unique(hashes, return_counts=True)
        own_counts //= np.gcd.reduce(own_counts)  # a table that is repeated as a whole
        kept, kept_counts = np.unique(self.hashes, return_counts=True)
        mine, theirs = np.isin(own, kept), np.isin(kept, own)
        M, s = int(own_counts.sum()), self.hashes.size
        on_either_side = int(np.sum(np.isin(own[own_counts == 1], kept[kept_counts == 1])))
        on_one_side = int(np.sum(own_counts[~mine] == 2) + np.sum(kept_counts[~theirs] == 2))
        once = int(np.sum(mine & (own_counts == 1)))
        twice = int(np.sum(own_counts == 2))
        return (
            (on_either_side >= ENOUGH and on_one_side == 0)
            or _unlikely(on_either_side, on_one_side, 2 * M * s / (M + s) ** 2)
            or _unlikely(once, twice, 2 * s / (2 * s + M))
        )


def hash_rows(X: Rows) -> Hashes:
    """Return a hash of every row of an array or a CSR matrix that was checked."""
    return _sampled(X, 0, ALL)[1]


def _unlikely(hits: int, others: int, share: float) -> bool:
    """Whether so many hits, or more, are too many for a chance of ``share`` each."""
    return hits > 0 and bool(bdtrc(hits - 1, hits + others, share) < FALSE_ALARM)


def _limit(n_rows: int) -> np.uint64:
    """Return below which priority rows of a stream of this length are kept; it never rises."""
    share = min(max(SHARE * n_rows, FEWEST), MOST) / max(n_rows, 1)
    return ALL if share >= 1 else np.uint64(int(share * 2**64))


def _sampled(X: Rows, first: int, limit: np.uint64) -> tuple[Hashes, Hashes]:
    """Return priorities and hashes of the rows that are kept; the first stands at this place of the stream."""
    rows, priorities = np.empty(X.shape[0], np.intp), np.empty(X.shape[0], np.uint64)
    count = choose_rows(first, X.shape[0], limit, rows, priorities)
    rows, hashes = rows[:count], np.empty(count, np.uint64)
    if sp.issparse(X):
        hash_sparse(*stored_arrays(X), rows, hashes)
    else:
        hash_dense(X, rows, _keys(X.shape[1]), hashes)
    return priorities[:count].copy(), hashes


@lru_cache(maxsize=4)
def _keys(n_columns: int) -> Hashes:
    keys = np.empty(n_columns, np.uint64)
    fill_keys(keys)
    return keys
