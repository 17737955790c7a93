"""What a model file remembers of the data that its model learned from, so that no promise rests on those rows."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from saccade.data.checkpoints import digests
from saccade.data.held_out import HeldOut
from saccade.exceptions import DataFileError

__all__ = ["Origin"]


@dataclass(frozen=True)
class Origin:
    """The data that a model learned from."""

    zero_based: bool | None = None  # of libsvm files: whether indices begin at 0
    data: tuple[str, ...] = ()  # a hash of each file, in their order
    held_out: HeldOut | None = None

    @classmethod
    def of(cls, state: Any) -> "Origin":
        """Return what a model file says; a file that says nothing, or no such thing, knows nothing."""
        state = state if isinstance(state, dict) else {}
        zero_based, data = state.get("zero_based"), state.get("data")
        known = isinstance(data, list) and all(isinstance(digest, str) for digest in data)
        return cls(
            zero_based if isinstance(zero_based, bool) else None,
            tuple(data) if isinstance(data, list) and known else (),
            _held_out(state.get("held_out")),
        )

    @property
    def state(self) -> dict[str, Any]:
        """Return what is saved with the model."""
        held_out = None if self.held_out is None else asdict(self.held_out)
        return {"zero_based": self.zero_based, "data": list(self.data), "held_out": held_out}

    def compared_with(self, files: list[str]) -> Literal["same", "some", "other"]:
        """Return whether files are the data that the model learned from, have some of it, or none."""
        if not self.data:
            return "other"
        hashes = digests(files)
        if tuple(hashes) == self.data:
            return "same"
        return "other" if set(hashes).isdisjoint(self.data) else "some"

    def check_calibration(self, path: str, files: list[str], model: str) -> HeldOut | None:
        """Return which rows of the data may calibrate, None for all; refuse data that the model learned from."""
        match self.compared_with(files), self.held_out:
            case "other", _:
                return None
            case "same", HeldOut() as held_out:
                return held_out
            case "some", HeldOut():
                remedy = (
                    "Pass all of its files and no others, in the same order: the rows that were held out are known then"
                )
            case _:
                remedy = "Hold some rows out of learning, with saccade fit --hold-out 0.3"
        raise DataFileError(
            f"{path} has rows that {model} was fitted on. On them its margins are clearer than on new rows, and a "
            f"promise that rests on them does not hold. {remedy}; or pass other rows."
        )


def _held_out(state: Any) -> HeldOut | None:
    match state:
        case {"share": float(share), "seed": int(seed)} if 0 < share < 1 and 0 <= seed < 2**63:
            return HeldOut(share, seed)
    return None
