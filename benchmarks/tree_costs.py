"""What a decision by boosted trees costs where columns cost money: attend, against LightGBM's own way to save.

Run with ``make bench``. LightGBM can be fitted so that it prefers cheap columns (CEGB): a column is paid for once in
the whole model with ``cegb_penalty_feature_coupled``, and once in a row with ``cegb_penalty_feature_lazy``. What is
fitted so is still read whole. ``attend`` takes any model and stops early, and both together do both.

A row pays for the columns on its paths through the trees that are read, each once, in every contestant; 'everything' is
all columns. Of the models that CEGB gives at several trade-offs, the cheapest is taken among those that are at least as
accurate as plain attend on the rows that planned and calibrated; the same for CEGB with attend. Only rows that took no
part in anything report. Medians over splits.
"""

import warnings

import lightgbm as lgb
import numpy as np
from record import keep
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from saccade import attend

SPLITS, SPLITS_OF_FEW = 5, 15  # of thousands of rows, and of hundreds
TRADE_OFFS = {"coupled": np.geomspace(0.01, 30, 7), "lazy": np.geomspace(1e-4, 0.3, 7)}
HEADS = ("attend", "no costs", "CEGB", "both", "all trees", "everything")


def breast_cancer():
    """30 measurements at prices of their own.

    569 rows are few: 5 % can be promised of all rows together, and not of each class, with most of the held-out rows to
    calibrate on; and which CEGB model is as accurate is decided on 256 rows, so that its error on new rows is higher.
    """
    X, y = load_breast_cancer(return_X_y=True)
    costs = np.random.default_rng(0).lognormal(0, 1, X.shape[1])
    return X, y, costs, {"delta": 0.05, "promise": "rows", "calibration_size": 0.6}, {"n_estimators": 100}


def synthetic():
    """40 columns that share five factors, at prices over three orders of magnitude, and a score that is no sum."""
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(16_000, 5))
    X = factors @ rng.normal(size=(5, 40)) + rng.normal(size=(16_000, 40))
    score = np.sin(factors[:, 0]) + factors[:, 1] * factors[:, 2] + np.abs(factors[:, 3]) + 0.1 * X[:, ::4].sum(axis=1)
    y = (score > np.median(score) + 0.3 * rng.normal(size=len(X))).astype(int)
    return X, y, 10 ** rng.uniform(0, 3, 40), {"delta": 0.02}, {"n_estimators": 300, "learning_rate": 0.05}


def paid(trees, X, prices, order, n_read):
    """Return what the first trees of an order, so many for each row, cost each row."""
    leaf, needs = trees.leaves(X, np.arange(len(X))), trees.walks.needs(prices.purchase)
    bought = np.stack([np.bitwise_or.reduce(needs[leaf[i, order[:n]]]) for i, n in enumerate(n_read)])
    bits = np.unpackbits(bought.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    return bits[:, : prices.price.size] @ prices.price


def spent(attentive, X, prices):
    """Return the mean price of what the plan reads of each row."""
    plan, trees = attentive.plan_, attentive.additive_
    order = np.array(list(dict.fromkeys([*plan.order.tolist(), *trees.walks.every.tolist()])))
    return paid(trees, X, prices, order, attentive.read(X).n_read).mean()


def spent_on_all(attentive, X, prices):
    """Return the mean price of what all trees read of each row."""
    trees = attentive.additive_
    every = trees.walks.every
    return paid(trees, X, prices, every, np.full(len(X), every.size)).mean()


def frugally_grown(X, y, costs, settings):
    """Yield models that were fitted to prefer cheap columns, ever more so."""
    for kind, trade_offs in TRADE_OFFS.items():
        for trade_off in trade_offs:
            penalty = {f"cegb_penalty_feature_{kind}": costs.tolist(), "cegb_tradeoff": trade_off}
            model = lgb.LGBMClassifier(**settings, **penalty, verbose=-1, n_jobs=1).fit(X, y)
            if model.booster_.num_trees() and model.booster_.feature_importance().any():
                yield model


def compare(name, problem):
    X, y, costs, terms, settings = problem()
    rows, errors = [], []
    for seed in range(SPLITS_OF_FEW if len(X) < 1000 else SPLITS):
        X_some, X_test, y_some, y_test = train_test_split(X, y, test_size=0.25, random_state=seed)
        X_fit, X_check, y_fit, y_check = train_test_split(X_some, y_some, test_size=0.6, random_state=seed)
        terms["random_state"] = seed
        model = lgb.LGBMClassifier(**settings, verbose=-1, n_jobs=1).fit(X_fit, y_fit)
        frugal, careless = attend(model, X_check, costs=costs, **terms), attend(model, X_check, **terms)
        prices, needed = frugal.prices_, np.mean(frugal.predict(X_check) == y_check)
        grown, both = [], []
        for cheap in frugally_grown(X_fit, y_fit, costs, settings):
            attentive = attend(cheap, X_check, costs=costs, **terms)
            if np.mean(cheap.predict(X_check) == y_check) >= needed:
                grown.append((spent_on_all(attentive, X_check, prices), attentive))
            if np.mean(attentive.predict(X_check) == y_check) >= needed:
                both.append((spent(attentive, X_check, prices), attentive))
        cegb = min(grown, default=(0, careless), key=lambda pair: pair[0])[1]
        two = min(both, default=(0, frugal), key=lambda pair: pair[0])[1]
        rows.append(
            [
                spent(frugal, X_test, prices),
                spent(careless, X_test, prices),
                spent_on_all(cegb, X_test, prices),
                spent(two, X_test, prices),
                spent_on_all(frugal, X_test, prices),
                prices.price.sum(),
            ]
        )
        own = model.predict(X_test)
        labels = [
            frugal.predict(X_test),
            careless.predict(X_test),
            cegb.estimator_.predict(X_test),
            two.predict(X_test),
        ]
        errors.append([100 * np.mean(given != y_test) for given in [*labels, own, own]])
    report(name, np.array(rows), np.array(errors))


def report(name, rows, errors):
    print(f"{name:14}" + "".join(f"{value:12.2f}" for value in np.median(rows, axis=0)))
    print(f"{'  error %':14}" + "".join(f"{value:12.2f}" for value in np.median(errors, axis=0)))
    attend_wins, both_wins = np.mean(rows[:, 0] < rows[:, 2]), np.mean(rows[:, 3] < rows[:, 0])
    print(
        f"  attend below CEGB in {100 * attend_wins:.0f} % of the splits, both below attend in {100 * both_wins:.0f} %"
    )
    paid = dict(zip(HEADS, np.median(rows, axis=0), strict=True))
    for head, price in paid.items():
        most = paid["CEGB"] if head == "attend" else None
        keep("tree_costs", f"money per decision, {head}: {name}", price, at_most=most)
    wrong = np.median(errors, axis=0)
    for head, share in zip(HEADS[:4], wrong, strict=False):
        keep("tree_costs", f"errors, {head}: {name}", share, unit="%")


if __name__ == "__main__":
    warnings.filterwarnings("ignore", "X does not have valid feature names")
    print("\nMoney per decision on rows that took no part in anything; medians over splits")
    print(f"{'':14}" + "".join(f"{head:>12}" for head in HEADS))
    compare("breast cancer", breast_cancer)
    compare("synthetic", synthetic)
