"""Models over raw columns in files: tables and formulas as arrays, what they are made of as JSON.

Terms look codes up in tables without looking whether they are there, and maps take features by their number: that each
array has the shape which the others imply is seen to here.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.exceptions import ModelFileError
from saccade.files.archive import Archive
from saccade.files.categories import categories_from, categories_parts
from saccade.files.maps import ascending, is_saved, map_from, map_parts, reals
from saccade.models.categories import Categories
from saccade.models.tables.blocks import Foreign, Formula, Lookup
from saccade.models.tables.model import TermModel
from saccade.models.tables.pieces import Pieces
from saccade.models.tables.terms import FormulaTerm, Grid, NoTerm, PiecesTerm, Table, Term

__all__ = ["terms_from", "terms_parts"]

Arrays = dict[str, NDArray[Any]]
Made = Lookup | Formula

# The weights of all parts in all scores take at most a gigabyte: a small file can ask for many classes.
MOST_WEIGHTS = 2**27
# Blocks of features within blocks, at most.
MOST_DEPTH = 16


def terms_parts(model: TermModel) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a model over raw columns."""
    arrays: Arrays = {"intercept": model.intercept}
    terms = [_term_parts(model, term, f"terms.{k}", arrays) for k, term in enumerate(model.terms)]
    if model.together is not None:
        arrays["together"] = model.together
    header = {"n_columns": model.n_columns, "terms": terms, "categories": categories_parts(model.categories)}
    return {"terms": header}, arrays


def _term_parts(model: TermModel, term: Term, path: str, arrays: Arrays) -> dict[str, Any]:
    if isinstance(term, NoTerm):
        return {"kind": "none"}
    if isinstance(term, Table):
        arrays[f"{path}.table"] = term.table
        return {"kind": "table"}
    if isinstance(term, PiecesTerm):
        arrays |= {f"{path}.{name}": getattr(term.pieces, name) for name in _PIECES}
        return {"kind": "pieces"}
    columns = list(term.columns)
    if isinstance(term, Grid):
        arrays[f"{path}.table"] = term.table
        arrays |= {f"{path}.edges.{k}": edges for k, edges in enumerate(term.edges) if edges is not None}
        return {"kind": "grid", "columns": columns}
    if isinstance(term, FormulaTerm):
        blocks = []
        for k, (block, weights) in enumerate(zip(term.blocks, term.weights, strict=True)):
            blocks.append(_block_parts(model, block, f"{path}.blocks.{k}", arrays)[0])
            arrays[f"{path}.weights.{k}"] = weights
        return {"kind": "formula", "columns": columns, "blocks": blocks}
    raise TypeError(f"A term of the kind {type(term).__name__} cannot be saved yet.")


_PIECES = ("edges", "single", "origin", "coefficients", "missing")


def _block_parts(
    model: TermModel, block: Lookup | Formula | Foreign, path: str, arrays: Arrays
) -> tuple[dict[str, Any], int]:
    """Return what JSON can hold of a block, and how many features it has."""
    if isinstance(block, Foreign):
        raise _foreign(model, block.columns, block.name)
    if isinstance(block, Lookup):
        arrays |= {f"{path}.table": block.table, f"{path}.refused": block.refused}
        return {"lookup": block.column}, int(block.table.shape[1])
    inputs = [_block_parts(model, own, f"{path}.inputs.{k}", arrays) for k, own in enumerate(block.inputs)]
    width, steps = sum(of_input for _, of_input in inputs) if inputs else 1, []
    for k, step in enumerate(block.maps):
        if not is_saved(step):
            raise _foreign(model, block.columns, getattr(step, "name", type(step).__name__))
        steps.append(map_parts(step, f"{path}.maps.{k}", width, arrays))
        width = width if step.width is None else step.width
    about: dict[str, Any] = {"maps": steps}
    return {**about, "inputs": [own for own, _ in inputs]} if inputs else {**about, "column": block.columns[0]}, width


def _foreign(model: TermModel, columns: tuple[int, ...], name: str) -> TypeError:
    """Return the error about a transformer, or a function, that is used as it is."""
    of = " and ".join(map(model.name_of, columns))
    return TypeError(
        f"The model cannot be saved: {name} makes features of {of} by code of its own, which would have to be pickled, "
        "and a file that is safe to load holds no code. Replace it by steps of scikit-learn that saccade takes apart, "
        "or apply it to the table before the model, and fit anew."
    )


def terms_from(archive: Archive, classes: NDArray[Any]) -> TermModel:
    """Return the terms of a file."""
    about = Archive(archive.field("terms", dict), archive.arrays)
    n_columns, n_scores = about.field("n_columns", int), 1 if classes.size == 2 else classes.size
    # What is built takes memory in proportion to the columns: a file has a price for each.
    archive.array("prices.purchase", np.int64, (n_columns,))
    names, stored = archive.names(n_columns), about.field("terms", list)
    if len(stored) < n_columns or n_columns == 0 or len(stored) * n_scores**2 > MOST_WEIGHTS:
        raise ModelFileError(f"it has {len(stored)} terms for {n_columns} columns and {n_scores} scores")
    categories = categories_from(about.field("categories", list), n_columns)
    _check_categories(categories)
    reader = _Reader(about, n_columns, n_scores, categories)
    return TermModel(
        terms=tuple(reader.term(k, entry) for k, entry in enumerate(stored)),
        intercept=archive.array("intercept", np.float64, (n_scores,)),
        classes=classes,
        columns=None if names is None else tuple(names),
        categories=categories,
        n_columns=n_columns,
        together=archive.array("together", np.int64, (n_columns,)) if "together" in archive.arrays else None,
    )


def _check_categories(categories: dict[int, Categories]) -> None:
    """Raise unless categories can be looked up: they are different, and written in UTF-8."""
    for column, own in categories.items():
        values = own.values.tolist()
        if not (own.others_apart and own.numbers_too):
            raise ModelFileError("its categories have no code for values that are none of them")
        if len(set(values)) < len(values) or any("\ud800" <= c <= "\udfff" for c in "".join(filter(_is_text, values))):
            raise ModelFileError(f"its categories of column {column} are not all different, or no texts")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


class _Reader:
    """Audits and builds terms."""

    def __init__(self, archive: Archive, n_columns: int, n_scores: int, categories: dict[int, Categories]) -> None:
        self._archive, self._n_columns, self._n_scores, self._categories = archive, n_columns, n_scores, categories

    def term(self, k: int, entry: Any) -> Term:
        """Return the k-th term: the first are those of one column each."""
        path, about = f"terms.{k}", entry if isinstance(entry, dict) else {}
        columns = (k,) if k < self._n_columns else self._several(path, about)
        match about.get("kind"):
            case "none" if k < self._n_columns:
                return NoTerm(k, self._n_scores)
            case "table" if k < self._n_columns:
                return Table(k, reals(self._archive, f"{path}.table", (self._codes_of(k, path), self._n_scores)))
            case "pieces" if k < self._n_columns:
                self._is_number(k, path)
                return PiecesTerm(k, self._pieces(path))
            case "grid" if about.get("columns") == list(columns):
                return self._grid(columns, path)
            case "formula" if about.get("columns") == list(columns) and isinstance(about.get("blocks"), list):
                return self._formula_term(columns, path, about["blocks"])
        raise ModelFileError(f"its {path} is {str(entry)[:80]}, which is no term that this version of saccade knows")

    def _several(self, path: str, about: dict[str, Any]) -> tuple[int, ...]:
        columns = about.get("columns")
        listed = isinstance(columns, list) and all(type(j) is int and 0 <= j < self._n_columns for j in columns)
        if not listed or len(columns) < 2 or len(set(columns)) < len(columns):  # type: ignore[arg-type]
            raise ModelFileError(f"its {path} needs the columns {str(columns)[:80]}")
        return tuple(columns)  # type: ignore[arg-type]

    def _codes_of(self, column: int, path: str) -> int:
        """Return how many codes a column has, those of other and of missing values among them."""
        if column not in self._categories:
            raise ModelFileError(f"its {path} looks up categories of column {column}, which has none")
        return int(self._categories[column].values.size) + 2

    def _is_number(self, column: int, path: str) -> None:
        if column in self._categories:
            raise ModelFileError(f"its {path} takes column {column} as a number, and it has categories")

    def _pieces(self, path: str) -> Pieces:
        edges = ascending(self._archive, f"{path}.edges", strictly=True)
        coefficients = reals(self._archive, f"{path}.coefficients", (edges.size + 1, self._n_scores, None))
        if coefficients.shape[2] == 0:
            raise ModelFileError(f"its {path} has polynomials without a constant")
        single = ascending(self._archive, f"{path}.single")
        if single.size != edges.size:
            raise ModelFileError(f"its {path} has {edges.size} edges, and {single.size} for single precision")
        return Pieces(
            edges=edges,
            single=single,
            origin=self._archive.array(f"{path}.origin", np.float64, (edges.size + 1,)),
            coefficients=coefficients,
            missing=reals(self._archive, f"{path}.missing", (self._n_scores,)),
        )

    def _grid(self, columns: tuple[int, ...], path: str) -> Grid:
        edges = tuple(
            None if column in self._categories else ascending(self._archive, f"{path}.edges.{k}", strictly=True)
            for k, column in enumerate(columns)
        )
        sizes = [
            self._codes_of(column, path) if own is None else own.size + 2
            for column, own in zip(columns, edges, strict=True)
        ]
        return Grid(columns, edges, reals(self._archive, f"{path}.table", (*sizes, self._n_scores)))

    def _formula_term(self, columns: tuple[int, ...], path: str, stored: list[Any]) -> FormulaTerm:
        blocks, weights = [], []
        for k, entry in enumerate(stored):
            block, width = self._block(entry, f"{path}.blocks.{k}", columns, 0)
            blocks.append(block)
            weights.append(self._archive.array(f"{path}.weights.{k}", np.float64, (self._n_scores, width)))
        if not blocks:
            raise ModelFileError(f"its {path} has no features")
        return FormulaTerm(columns, tuple(blocks), tuple(weights))

    def _block(self, entry: Any, path: str, columns: tuple[int, ...], depth: int) -> tuple[Made, int]:
        """Return a block, and how many features it has."""
        match entry:
            case {"lookup": column} if type(column) is int and column in columns:
                table = reals(self._archive, f"{path}.table", (self._codes_of(column, path), None))
                refused = self._archive.array(f"{path}.refused", np.bool_, table.shape[:1])
                return Lookup(column, self._categories[column].values, table, refused), int(table.shape[1])
            case {"maps": list(steps), "column": column} if type(column) is int and column in columns:
                self._is_number(column, path)
                return self._formula((column,), (), steps, path, 1)
            case {"maps": list(steps), "inputs": [_, *_] as stored} if depth < MOST_DEPTH:
                made = [self._block(own, f"{path}.inputs.{k}", columns, depth + 1) for k, own in enumerate(stored)]
                inputs, width = tuple(block for block, _ in made), sum(of_input for _, of_input in made)
                own_columns = tuple(sorted({column for block in inputs for column in block.columns}))
                return self._formula(own_columns, inputs, steps, path, width)
        raise ModelFileError(f"its {path} is {str(entry)[:80]}, which is no block of features")

    def _formula(
        self, columns: tuple[int, ...], inputs: tuple[Made, ...], stored: list[Any], path: str, width: int
    ) -> tuple[Formula, int]:
        steps = []
        for k, about in enumerate(stored):
            step, width = map_from(self._archive, about, f"{path}.maps.{k}", width)
            steps.append(step)
        return Formula(columns, tuple(steps), inputs), width
