"""The data sets that learning is measured on: training rows with their labels, test rows with theirs.

All are deterministic, the texts for given versions of the packages that they are taken from.
"""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from mnist import load_mnist
from sklearn.feature_extraction.text import TfidfVectorizer

# Features are mixtures of so many hidden factors; the first few tell the classes apart.
N_FACTORS, N_TELLING = 20, 4
# By how much, in standard deviations, for so many important examples.
SEPARATION = {0.1: 0.93, 0.4: 0.46}

# Whose documentation is read. Two classes: arrays and numerical methods against learning and tables.
PACKAGES = ("numpy", "scipy", "sklearn", "pandas")
GROUPS = {2: (0, 0, 1, 1), 4: (0, 1, 2, 3)}
# Docstrings and comments.
PROSE = re.compile(r'"""(.*?)"""|\'\'\'(.*?)\'\'\'|#[^\n]*', re.DOTALL)
WORD = re.compile(r"\b\w\w+\b")
# What would tell the package at once: its own name, its usual abbreviation.
GIVEAWAYS = re.compile(r"numpy|scipy|sklearn|scikit|pandas|\b(?:np|sp|pd|learn)\b")
WORDS_PER_ROW = 80
# Every so many-th file is for testing: no file has rows on both sides.
EVERY = 6


class Split(NamedTuple):
    """Rows to learn from and rows to test on."""

    X: object
    y: np.ndarray
    X_test: object
    y_test: np.ndarray


def mnist_pair(digits):
    """Return two digits of MNIST as float32 pixels from 0 to 1."""
    X, y, X_test, y_test = load_mnist(digits)
    return Split(X / np.float32(255), y, X_test / np.float32(255), y_test)


def correlated(n_rows=4000, n_features=20_000, important=0.1, seed=0, n_test=1000):
    """Return dense float32 rows whose features share hidden factors, with squared norms of about 20.

    A share of about ``important``, 0.1 or 0.4, of the training rows has a margin below 1 when
    ``Pegasos(1e-2, boundary=Full())`` meets them in its second pass: these are the ones that move the weights.
    """
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((N_FACTORS, n_features), dtype=np.float32)
    y = rng.integers(0, 2, n_rows + n_test)
    factors = rng.standard_normal((len(y), N_FACTORS), dtype=np.float32)
    factors[:, :N_TELLING] += np.float32(SEPARATION[important]) * (2 * y - 1).astype(np.float32)[:, None]
    X = factors @ loadings
    X += rng.standard_normal(X.shape, dtype=np.float32)
    X /= np.float32(np.sqrt(n_features))
    return Split(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])


def texts(n_classes):
    """Return tf-idf rows of passages from the documentation of four packages, as CSR float64; which package is it?

    With two classes: whether it is one of the first two. A row is about 80 consecutive words of the docstrings and
    comments of one file. A test row is from a file that no training row is from.
    """
    passages, packages, tested = [], [], []
    for code, package in enumerate(PACKAGES):
        root = Path(find_spec(package).origin).parent
        for number, path in enumerate(sorted(root.rglob("*.py"))):
            rows = _passages(path.read_text(encoding="utf-8", errors="ignore"))
            passages += rows
            packages += [code] * len(rows)
            tested += [number % EVERY == 0] * len(rows)
    y, tested = np.array(GROUPS[n_classes])[packages], np.array(tested)
    vectorizer = TfidfVectorizer()
    X = vectorizer.fit_transform(passage for passage, test in zip(passages, tested, strict=True) if not test)
    X_test = vectorizer.transform(passage for passage, test in zip(passages, tested, strict=True) if test)
    return Split(X, y[~tested], X_test, y[tested])


def _passages(source):
    """Return the prose of a file in passages of equal length, without what names the package; the rest is left out."""
    prose = " ".join(match.group() for match in PROSE.finditer(source)).lower()
    words = WORD.findall(GIVEAWAYS.sub(" ", prose))
    starts = range(0, len(words) - WORDS_PER_ROW + 1, WORDS_PER_ROW)
    return [" ".join(words[start : start + WORDS_PER_ROW]) for start in starts]
