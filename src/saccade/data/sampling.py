"""A uniform sample of the rows of a file, to plan and calibrate on, and the model that is certified on it."""

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from saccade.attentive import AttentiveClassifier
from saccade.data.batches import BadRows, DataFile, Wanted
from saccade.data.held_out import HeldOut, held_out_batches
from saccade.data.labels import known_codes
from saccade.data.texts import as_rows
from saccade.exceptions import DataFileError
from saccade.models.agreement import selects_columns
from saccade.reading.partitions import joined
from saccade.reading.progress import Progress
from saccade.reading.samples import enough_rows

__all__ = ["certify", "sample"]

_log = logging.getLogger(__name__)
EVERYTHING = Wanted()


def sample(
    data: DataFile, bad: BadRows, random: np.random.Generator, held_out: HeldOut | None = None
) -> tuple[Any, NDArray[Any] | None]:
    """Draw a uniform sample of rows, in the order of the file (reservoir sampling by random keys), and their labels.

    With ``held_out`` it is drawn from the rows that were held out of learning.
    """
    most = enough_rows(data.n_features)
    parts: list[Any] = []
    keys: list[Any] = []
    labels: list[Any] = []
    with Progress("rows", label="Rows", length=data.length) as progress:
        for batch in held_out_batches(data, bad, held_out):
            parts.append(batch.X)
            labels.append(batch.y)
            keys.append(random.random(batch.X.shape[0]))
            drawn = np.concatenate(keys)
            if drawn.size > 1.5 * most:
                kept = drawn <= np.partition(drawn, most)[most]
                parts, keys = [joined(parts)[kept]], [drawn[kept]]
                labels = [None if batch.y is None else np.concatenate(labels)[kept]]
            progress.advance(batch.X.shape[0], batch.end)
    if not parts:
        raise DataFileError(f"{data.path} has no rows.")
    order = np.sort(np.argsort(np.concatenate(keys))[:most])
    _log.info("%d rows drawn from %s in %.2f s", order.size, data.path, progress.seconds)
    return joined(parts)[order], None if labels[-1] is None else np.concatenate(labels)[order]


def certify(
    model: Any,
    data: DataFile,
    bad: BadRows,
    *,
    fewest: str,
    random_state: int | None,
    held_out: HeldOut | None = None,
    wanted: Wanted = EVERYTHING,
    **levels: Any,
) -> AttentiveClassifier:
    """Plan and calibrate a fitted model on the rows of a file, or on those that were held out of learning.

    ``levels`` are parameters of ``AttentiveClassifier``. A certified model is certified anew, with the parameters that
    it has. For the fewest columns of Parquet files, the costs of columns are their bytes. ``wanted`` says how the
    rows were read: by which names, and by which codes in the place of texts.
    """
    parameters: dict[str, Any] = {}
    if isinstance(model, AttentiveClassifier):
        model, parameters = model.estimator_, model.get_params(deep=False)
        del parameters["estimator"], parameters["average_features"]
        if parameters["fewest"] == "columns":  # its costs were the bytes of a file
            del parameters["costs"], parameters["groups"]
    rows, written = sample(data, bad, np.random.default_rng(random_state), held_out)
    y = None
    if levels.get("promise") == "accuracy":
        if written is None:
            raise DataFileError(f"{data.path}: name the column with the labels, the target, to promise accuracy.")
        y = model.classes_[known_codes(data.path, written, model.classes_)]
    if fewest == "columns" and hasattr(data, "column_bytes"):
        size = data.column_bytes()
        parameters |= {"costs": [size.get(name, 0) for name in data.names or []], "groups": None}
    parameters |= {"fewest": fewest, "random_state": random_state, **levels}
    given = as_rows(rows, wanted.names, wanted.coders, by_name=selects_columns(model))
    return AttentiveClassifier(FrozenEstimator(model), **parameters).fit(given, y)
