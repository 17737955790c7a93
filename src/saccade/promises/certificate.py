"""What is vouched for, in figures and as a sentence."""

from dataclasses import dataclass

__all__ = ["Certificate"]


@dataclass(frozen=True)
class Certificate:
    """With probability ``confidence`` over the calibration rows, at most ``delta`` of new rows get another label.

    Another than the full model gives them; new rows must come from where the calibration rows came from.
    """

    delta: float
    confidence: float
    n_calibration: int
    disagreement: float  # observed on the calibration rows
    upper_bound: float  # of the true disagreement, at this confidence
    features_per_row: float
    n_features: int

    def __str__(self) -> str:
        return (
            f"With {100 * self.confidence:g} % confidence, at most {100 * self.delta:.3g} % of new rows get another "
            f"label than the full model gives them: {100 * self.disagreement:.2g} % of {self.n_calibration:,} "
            f"calibration rows did. {self.features_per_row:.1f} of {self.n_features:,} features were read per row."
        )
