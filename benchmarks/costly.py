"""What a decision costs where features cost money: attentive, against its peers.

Run with ``make bench``. Money per decision is the mean over test rows that took no part in anything. The peers: reading
every feature; the same certificate with an order that ignores cost; and logistic regression with an L1 penalty, the
cheapest of a path of models that is at least as accurate on the validation rows as the attentive one.
"""

import warnings

import numpy as np
from mnist import load_mnist
from record import keep
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from saccade import attend

SPLITS = 10


def breast_cancer():
    """30 measurements in ten groups (mean, error and worst of one quantity), each group at a price of its own."""
    X, y = load_breast_cancer(return_X_y=True)
    groups = np.arange(30) % 10
    costs = np.random.default_rng(0).lognormal(0, 1, 10)[groups] / 3
    return X, y, costs, groups, 0.05, make_pipeline(StandardScaler(), LogisticRegression())


def digits():
    """MNIST 2 vs 3: a pixel costs more the farther it is from the centre, up to ten times."""
    X, y, X_test, y_test = load_mnist((2, 3))
    X, y = np.concatenate([X, X_test]) / np.float32(255), np.concatenate([y, y_test])
    row, column = np.divmod(np.arange(784), 28)
    costs = 1 + 9 * np.hypot(row - 13.5, column - 13.5) / np.hypot(13.5, 13.5)
    return X, y, costs, None, 0.01, LinearSVC(C=0.01, loss="hinge", random_state=0)


def synthetic():
    """60 features that share five factors, at prices over three orders of magnitude."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12_000, 5)) @ rng.normal(size=(5, 60)) + rng.normal(size=(12_000, 60))
    score = X @ rng.normal(size=60)
    y = (score + score.std() / 3 * rng.normal(size=len(X)) > 0).astype(int)
    return X, y, 10 ** rng.uniform(0, 3, 60), None, 0.01, LogisticRegression(max_iter=1000)


def spent(attentive, X, prices):
    """Return the mean price of what was read of each row."""
    plan, n_read = attentive.plan_, attentive.read(X).n_read
    paid = np.concatenate([[0.0], prices.spent(plan.order, np.arange(1, plan.order.size + 1), slice(None))[0]])
    return np.where(n_read == plan.n_features, prices.price.sum(), paid[np.minimum(n_read, plan.order.size)]).mean()


def cheapest_sparse(X, y, X_check, y_check, accuracy, prices):
    """Return the price of the cheapest L1 model that is accurate enough; every row pays for all its features."""
    best, scaler = prices.price.sum(), StandardScaler().fit(X)
    for C in np.geomspace(1e-3, 3, 12):
        model = LogisticRegression(l1_ratio=1, solver="liblinear", C=C, tol=1e-3).fit(scaler.transform(X), y)
        if model.score(scaler.transform(X_check), y_check) >= accuracy:
            best = min(best, prices.total(np.flatnonzero(model.coef_[0])))
    return best


def compare(name, problem):
    X, y, costs, groups, delta, model = problem()
    rows = []
    for seed in range(SPLITS if len(X) < 10_000 else SPLITS // 2):
        X_some, X_test, y_some, y_test = train_test_split(X, y, test_size=0.25, random_state=seed)
        X_fit, X_check, y_fit, y_check = train_test_split(X_some, y_some, test_size=0.6, random_state=seed)
        model.fit(X_fit, y_fit)
        # A few hundred rows promise nothing of each class.
        few = {"promise": "rows", "calibration_size": 0.6} if len(X) < 10_000 else {}
        terms = {"delta": delta, "random_state": seed, **few}
        frugal = attend(model, X_check, costs=costs, groups=groups, **terms)
        careless = attend(model, X_check, **terms)
        prices = frugal.prices_
        accuracy = np.mean(frugal.predict(X_check) == y_check)
        sparse = cheapest_sparse(X_fit, y_fit, X_check, y_check, accuracy, prices)
        paid = [spent(frugal, X_test, prices), spent(careless, X_test, prices), sparse, prices.price.sum()]
        disagreement = np.mean(frugal.predict(X_test) != model.predict(X_test))
        rows.append([*paid, 100 * disagreement, 100 * np.mean(frugal.predict(X_test) != y_test)])
    means, least = np.mean(rows, axis=0), np.mean([row[0] <= min(row[:4]) for row in rows])
    print(f"{name:15}{delta:7}" + "".join(f"{value:11.2f}" for value in means) + f"{100 * least:9.0f} %")
    of = f"δ = {delta:g}: {name}"
    keep("costly", f"money per decision, {of}", means[0], at_most=min(means[1:4]))
    for peer, paid in zip(("costs ignored", "L1 of the same accuracy", "everything"), means[1:4], strict=True):
        keep("costly", f"money per decision, {peer}, {of}", paid)
    keep("costly", f"splits in which it is the least, {of}", 100 * least, unit="%")


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    print("\nMoney per decision, certified at delta; means over splits; 'least' says in how many attentive spent least")
    heads = ("attentive", "no costs", "L1", "everything", "disagree %", "error %", "least")
    print(f"{'':15}{'delta':>7}" + "".join(f"{head:>11}" for head in heads))
    compare("breast cancer", breast_cancer)
    compare("MNIST 2 vs 3", digits)
    compare("synthetic", synthetic)
