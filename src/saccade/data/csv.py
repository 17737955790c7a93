"""CSV files, read by pyarrow in blocks of whole records.

A block that pyarrow cannot convert, or that has a value which is missing or not finite, is read again by Python's csv
module, record by record: this slower path locates the bad rows.
"""

import csv
import io
import os
import re
from collections.abc import Iterator
from functools import cached_property
from math import isfinite, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.arrow import pyarrow
from saccade.data.batches import BadRows, Batch, Piece, Wanted, check_width, chosen_columns, whole_rows
from saccade.data.categories import coded
from saccade.data.headers import BLANKS, MISSING_WORDS, first_records, is_blank, read_beginning, seen_in
from saccade.data.lines import blocks, line_at, text_length
from saccade.data.seen import Seen, first_rows
from saccade.exceptions import DataFileError

__all__ = ["CsvFile"]

_QUOTE = re.compile(rb'"')
# Missing values as they are mostly spelled; the slower path knows all ways.
SPELLED = sorted({spelled for word in MISSING_WORDS for spelled in (word, word.upper(), word.capitalize())} | {"NaN"})


class CsvFile:
    """Comma-, semicolon- or tab-separated values, with or without a header, compressed by gzip or not."""

    zero_based: bool | None = None

    def __init__(self, path: str, wanted: Wanted) -> None:
        self.path, self.size = path, os.path.getsize(path)
        begun = read_beginning(path, wanted)
        self._separator, self._start, self._has_names = begun.separator, begun.start, begun.has_names
        self._target: int | None
        if begun.has_names:
            self._columns = begun.first
            self.names: list[str] | None = chosen_columns(path, begun.first, wanted)
            position = {name: j for j, name in enumerate(begun.first)}
            # By their places among the features, those that the file has.
            self._features = {place: position[name] for place, name in enumerate(self.names) if name in position}
            self._target = None if wanted.target is None else position[wanted.target]
            self.n_features = len(self.names)
        else:
            self._columns = [f"field {j}" for j in range(len(begun.first))]
            self.names = None
            self._target = _number_of_column(path, wanted.target, len(begun.first))
            self._features = dict(enumerate(j for j in range(len(begun.first)) if j != self._target))
            self.n_features = len(self._features)
            check_width(path, self.n_features, wanted)
        self._needed, self._coders = wanted.needed_of(self.n_features), wanted.coders
        self._missing_ok, self._strict = wanted.missing_ok, set(wanted.never_missing(self.n_features))
        whole = list(self._features)
        # What pyarrow is to convert: all features, and where it cannot, those that are needed alone.
        attempts = [whole, self._needed] if wanted.others and whole != self._needed else [self._needed]
        self._attempts = [(features, self._read_options(features)) for features in attempts]
        self._spaced_quote = re.compile(rb'(?:^|[\n\r%s]) +"' % re.escape(self._separator.encode()))

    @cached_property
    def length(self) -> int:
        """Where the last batch ends: the bytes of the text."""
        return text_length(self.path)

    def seen(self) -> dict[int, Seen]:
        """Return what the first rows hold in each column that is a feature."""
        most = first_rows(len(self._columns))
        records = first_records(self.path, self._separator, most, has_names=self._has_names)
        whole = [fields for fields in records if len(fields) == len(self._columns)]
        return {place: seen_in(fields[j] for fields in whole) for place, j in self._features.items()}

    def pieces(self, bad: BadRows) -> Iterator[Piece]:
        return whole_rows(self, bad)

    def batches(self, start: int, bad: BadRows) -> Iterator[Batch]:
        """Read from a place that an earlier batch ended at, or from 0."""
        for block, begin, end in blocks(self.path, max(start, self._start), self._separator):
            attempts = (self._converted(block, end, *attempt) for attempt in self._attempts)
            batch = next((batch for batch in attempts if batch is not None), None)
            yield self._record_by_record(block, begin, end, bad) if batch is None else batch

    def _read_options(self, features: list[int]) -> dict[str, Any]:
        """Return pyarrow's options: columns are named by their positions, features are numbers, the target is text."""
        arrow = pyarrow()
        texts = arrow.dictionary(arrow.int32(), arrow.string())
        types = {str(self._features[place]): texts if place in self._coders else arrow.float64() for place in features}
        if self._target is not None:
            types[str(self._target)] = texts
        return {
            "parse_options": arrow.csv.ParseOptions(delimiter=self._separator, newlines_in_values=True),
            "convert_options": arrow.csv.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=SPELLED if self._missing_ok else [],
                strings_can_be_null=False,
            ),
        }

    def _converted(self, block: bytes | memoryview, end: int, features: list[int], how: dict[str, Any]) -> Batch | None:
        """Return the rows of a block, or None where a row may be bad, or pyarrow would miss a quote after spaces."""
        if _QUOTE.search(block) and self._spaced_quote.search(block):
            return None
        arrow = pyarrow()
        names = [str(j) for j in range(len(self._columns))]
        options = arrow.csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=names)
        try:
            table = arrow.csv.read_csv(arrow.BufferReader(block), read_options=options, **how)
        except arrow.ArrowInvalid:
            return None
        if table.num_rows == 0:
            return None
        (record,) = table.combine_chunks().to_batches()
        X = self._numbers(record, features)
        y = None if self._target is None else _labels(record.column(str(self._target)))
        bad = not np.isfinite(self._never_missing(X, features)).all()
        if bad or (self._target is not None and y is None):
            return None
        return Batch(self._widened(X, features), y, end, np.ones(table.num_rows, dtype=bool))

    def _numbers(self, record: Any, features: list[int]) -> NDArray[np.float64]:
        """Return the features of a record batch as numbers."""
        plain = [k for k, place in enumerate(features) if place not in self._coders]
        X = np.empty((record.num_rows, len(features)))
        if plain:
            numbers = record.select([str(self._features[features[k]]) for k in plain])
            # Unlike an array's to_numpy, a tensor's imports no pandas.
            tensor = numbers.to_tensor(null_to_nan=True, row_major=True).to_numpy()
            if len(plain) == len(features):
                return np.asarray(tensor)
            X[:, plain] = tensor
        for k, place in enumerate(features):
            if place in self._coders:
                column, name = record.column(str(self._features[place])), self._columns[self._features[place]]
                texts = column.dictionary.to_pylist()
                X[:, k] = coded(self.path, name, texts, np.from_dlpack(column.indices), self._coders[place])
        return X

    def _never_missing(self, X: NDArray[np.float64], features: list[int]) -> NDArray[np.float64]:
        """Return the columns of these features that must be finite: all, unless a missing value is a value."""
        if not self._missing_ok:
            return X
        return X[:, [k for k, place in enumerate(features) if place not in self._missing_ok]]

    def _widened(self, X: NDArray[np.float64], features: list[int]) -> NDArray[np.float64]:
        """Return rows with all features; those that were not read are NaN."""
        if len(features) == self.n_features:
            return X
        wide = np.full((X.shape[0], self.n_features), np.nan)
        wide[:, features] = X
        return wide

    def _record_by_record(self, block: bytes | memoryview, begin: int, end: int, bad: BadRows) -> Batch:
        """Return the good rows of a block, and count or raise the bad rows."""
        lines = io.TextIOWrapper(io.BytesIO(block), "utf-8", "surrogateescape", newline="")
        reader = csv.reader(lines, delimiter=self._separator, skipinitialspace=True)
        rows: list[list[float]] = []
        labels: list[str] = []
        good: list[bool] = []
        wrong: tuple[int, list[str]] | None = None
        line = 0  # of the block, where the record begins
        limit = csv.field_size_limit(len(block) + 1)  # of all readers in the process, so it is set back
        try:
            for fields in reader:
                if not is_blank(fields):
                    good.append(self._take(fields, rows, labels))
                    if not good[-1] and wrong is None:
                        wrong = line, fields
                line = reader.line_num
        finally:
            csv.field_size_limit(limit)

        def first() -> tuple[str, str]:
            assert wrong is not None
            return f"line {line_at(self.path, begin) + wrong[0]}", self._fault(wrong[1])

        bad.count_or_raise(len(good) - sum(good), first, of=len(good))
        X = self._widened(np.array(rows, dtype=np.float64).reshape(len(rows), len(self._needed)), self._needed)
        y = None if self._target is None else np.array(labels, dtype=object)
        return Batch(X, y, end, np.array(good, dtype=bool))

    def _take(self, fields: list[str], rows: list[list[float]], labels: list[str]) -> bool:
        """Add a row and its label, and return whether it is good."""
        if len(fields) != len(self._columns):
            return False
        try:
            row = [self._value(place, fields[self._features[place]]) for place in self._needed]
            if not all(isfinite(x) for x, place in zip(row, self._needed, strict=True) if place in self._strict):
                return False
            if self._target is not None:
                label = fields[self._target].strip(BLANKS)
                label.encode()  # raises a ValueError where the bytes were no UTF-8
                if not label:
                    return False
                labels.append(label)
        except ValueError:
            return False
        rows.append(row)
        return True

    def _value(self, place: int, text: str) -> float:
        """Return a field as a number; raise a ValueError where it is none."""
        if place in self._coders:
            return float(self._coders[place](np.array([text], dtype=object))[0])
        if place in self._missing_ok and text.strip(BLANKS).lower() in MISSING_WORDS:
            return nan
        return _number(text)

    def _fault(self, fields: list[str]) -> str:
        """Say what is wrong with a bad row: the first of its faults."""
        if len(fields) != len(self._columns):
            return f"it has {len(fields)} fields, not {len(self._columns)}"
        needed = {self._features[place] for place in self._needed}
        for j in sorted(needed | ({self._target} if self._target is not None else set())):
            text, name = fields[j].strip(BLANKS), self._columns[j]
            if not text and (j == self._target or not self._may_lack(j)):
                return "the target is missing" if j == self._target else f"{name!r} is missing"
            if j == self._target or self._is_read(j, text):
                continue
            shown = f"{name!r} is {text.encode(errors='replace').decode()[:40]!r}"
            if self._place(j) in self._coders:
                return f"{shown}, which is no value that the model has a way for"
            try:
                value = _number(text)
            except ValueError:
                value = float("nan")
            if not isfinite(value):
                if any(digit in text for digit in "0123456789") and value == value:
                    return f"{shown}, too large for a number"
                hint = "; if it is to be predicted, or not to be read, name it as the target"
                return f"{shown}, not a number{hint if self._target is None else ''}"
        return "the target is no UTF-8 text"

    def _place(self, j: int) -> int:
        """Return which feature a column of the file is."""
        return next(place for place, position in self._features.items() if position == j)

    def _may_lack(self, j: int) -> bool:
        return self._place(j) in self._missing_ok

    def _is_read(self, j: int, text: str) -> bool:
        """Whether the text of a feature is a value although it may be no finite number."""
        place = self._place(j)
        try:
            value = self._value(place, text)
            return place in self._missing_ok or (place in self._coders and isfinite(value))
        except ValueError:
            return False


def _labels(column: Any) -> NDArray[Any] | None:
    """Return the labels of a column of texts, or None where a label is missing."""
    texts = [text.strip(BLANKS) for text in column.dictionary.to_pylist()]
    if not all(texts):
        return None
    labels = np.array(texts, dtype=object)
    return np.asarray(labels[np.from_dlpack(column.indices)])


def _number(text: str) -> float:
    """Return a number as pyarrow reads it: Python also takes 1_000, and digits of other scripts."""
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return float(text)


def _number_of_column(path: str, target: str | None, count: int) -> int | None:
    if target is None:
        return None
    if not (target.isascii() and target.isdigit() and int(target) < count):
        raise DataFileError(
            f"{path} has no header, and columns 0 to {count - 1}: there is no {target!r}. If its first line has names, "
            "say so: header=True, or --header."
        )
    return int(target)
