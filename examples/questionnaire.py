"""Ask for one measurement after another, with prices, what is known already, and what cannot be had.

Run it with ``python examples/questionnaire.py``.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import saccade

# The mean, the error and the worst value of a quantity come from one examination.
QUANTITIES = ["radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity", "symmetry"]


def examined() -> tuple[saccade.AttentiveClassifier, object]:
    """Return a certified model whose features are bought in groups, and the patients."""
    data = load_breast_cancer(as_frame=True)
    X, diagnosis = data.data, data.target_names[data.target]
    groups = {name: [f"mean {name}", f"{name} error", f"worst {name}"] for name in QUANTITIES}
    costs = {name: 5.0 if name in ("radius", "texture") else 20.0 for name in QUANTITIES}
    X, X_held_out, diagnosis, _ = train_test_split(X, diagnosis, test_size=0.6, random_state=0)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, diagnosis)
    terms = {"delta": 0.1, "calibration_size": 0.6, "costs": costs, "groups": groups}
    return saccade.attend(model, X_held_out, **terms, random_state=0), X


def main() -> None:
    attentive, X = examined()
    print(attentive.certificate_)
    patient = X.iloc[19]

    inquiry = attentive.inquire(known={"mean area": patient["mean area"]})
    while inquiry.wanted is not None:
        name = inquiry.wanted
        value = None if name == "worst texture" else patient[name]
        inquiry.tell(value)
        said = "not to be had" if value is None else value
        print(f"  {name}: {said}; {inquiry.leaning}, {inquiry.confidence:.1%} sure")
        inquiry = attentive.resume(inquiry.to_json())  # on another day, in another process
    print(f"{inquiry.label}, for {inquiry.spent:g}, certified: {inquiry.certified}")


if __name__ == "__main__":
    main()
