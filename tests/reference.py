"""Slow, obvious implementations beside the kernels: plain loops, no scale factor, no blocks, no lazy sums."""

import math

import numpy as np
from scipy.stats import binom, norm

from saccade.kernels.hashing import AUDIT, uniform
from saccade.reading.arrays import ArraySource
from saccade.reading.plan import decided
from saccade.reading.reader import read_plan


def step_length(rule, strength, t, margin, norm2):
    """How much of y x is added to the weights."""
    loss = max(0.0, 1.0 - margin)
    if rule == "algorithm1" or (rule == "pegasos" and margin < 1):
        return 1 / (strength * t)
    if rule == "perceptron" and margin <= 0:
        return 1.0
    if rule == "pa1" and loss > 0:
        return min(strength, loss / norm2)
    if rule == "pa2" and loss > 0:
        return loss / (norm2 + 1 / (2 * strength))
    return 0.0


def order_by_magnitude(values):
    """Sort by magnitude, largest first, near ties by feature; as float32 bits, because that is what an octave is."""
    keys = np.abs(values).astype(np.float32).view(np.int32).astype(np.int64) >> 19
    return sorted(range(len(values)), key=lambda j: (min(keys.max() - keys[j], 511), j))


def cushion(boundary, theta, total, rest, rest_squares):
    """What the boundary demands beyond theta, from the formulas of its docstring."""
    delta = boundary.delta
    level = math.log(1 / math.sqrt(delta))
    match getattr(boundary, "form", None) or boundary.tail:
        case "exact":
            return theta / 2 + math.sqrt(theta**2 / 4 + total * level) - theta
        case "printed":
            return math.sqrt(theta**2 / 4 + total * level)
        case "simplified":
            return math.sqrt(total * level)
        case "gaussian":
            return norm.isf(delta) * math.sqrt(rest)
        case "hoeffding":
            return math.sqrt(2 * math.log(1 / delta) * rest_squares)
        case "cantelli":
            return math.sqrt(rest * (1 / delta - 1))


def following(old, new, seen):
    """A running mean that begins like the mean of ten values and never forgets more slowly than 2 % a step."""
    return old + (new - old) * max(1 / (seen + 10), 0.02)


class Learner:
    """One binary learner with labels -1 and 1; natural or sorted order; any boundary; any rule."""

    def __init__(
        self, n, rule, strength, *, theta=1.0, boundary=None, order="natural", audit=0.0, seed=0, project=True
    ):
        self.rule, self.strength, self.theta, self.boundary = rule, strength, theta, boundary
        self.order_kind, self.audit, self.seed = order, audit, seed
        self.project = project and rule in ("pegasos", "algorithm1")
        self.w = np.zeros(n)
        self.b = 0.0
        self.t = 1
        self.sum_w, self.sum_b, self.sum_weight = np.zeros(n), 0.0, 0.0
        self.order = list(range(n))
        self.regress = bool(audit) and getattr(boundary, "tail", "hoeffding") != "hoeffding"
        self.checkpoints = []
        position = 8
        while position < (n // 2 if self.regress and order == "sorted" else n) and boundary is not None:
            self.checkpoints.append(position)
            position = max(position + 8, int(position * 1.5) // 8 * 8)
        self.cushions = {y: [math.inf] * len(self.checkpoints) for y in (-1, 1)}
        self.seen = {y: [[] for _ in range(n)] for y in (-1, 1)}  # every value that taught the moments
        self.width = dict.fromkeys((-1, 1), 2.0 if self.measured() else 1.0)
        self.multiplier, self.important_share = 1.0, 0.1
        self.factor = {y: self.width[y] if audit and not self.regress else 1.0 for y in (-1, 1)}
        self.near, self.cross = ({y: [4 * p / n for p in self.checkpoints] for y in (-1, 1)} for _ in range(2))
        self.slope = {y: [1.0] * len(self.checkpoints) for y in (-1, 1)}
        self.changes = self.next_reorder = self.tracked = 0
        self.counts = dict.fromkeys(("examples", "filtered", "updates", "read", "read_filtered", "audited"), 0)
        self.important = self.missed = 0

    def mean(self, y):
        return np.array([np.mean(values) if values else 0.0 for values in self.seen[y]])

    def variance(self, y):
        return np.array([np.var(values) if values else 0.0 for values in self.seen[y]])

    def set_cushions(self):
        for y in (-1, 1):
            variance = self.variance(y)
            for k, position in enumerate(self.checkpoints):
                rest = self.order[position:]
                known = not self.audit or len(self.seen[y][0]) >= 8
                open_variance = float(np.sum(self.w[rest] ** 2 * variance[rest]))
                if self.regress:
                    near, cross = self.near[y][k], self.cross[y][k]
                    self.slope[y][k] = cross / near
                    unexplained = max(self.width[y] ** 2 - cross**2 / near, 1e-3)
                    open_variance = float(np.sum(self.w**2 * variance)) * unexplained
                self.cushions[y][k] = (
                    cushion(
                        self.boundary,
                        self.theta,
                        float(np.sum(self.w**2 * variance)),
                        open_variance,
                        float(np.sum(self.w[rest] ** 2)),
                    )
                    if known
                    else math.inf
                )

    def walk(self, x, y):
        """Return after how many features the boundary stops, or None."""
        centred = hasattr(self.boundary, "tail")
        middle = self.mean(y) if centred else np.zeros(len(x))
        for k, position in enumerate(self.checkpoints):
            read = self.order[:position]
            deviation = self.w[read] @ (x[read] - middle[read])
            expected = self.w @ middle + self.b + self.slope[y][k] * deviation
            excess = y * expected - self.theta
            demanded = self.factor[y] * self.cushions[y][k]
            if excess >= demanded:
                return position
            if centred and k > 4 and excess < -demanded:
                return None
        return None

    def learn(self, x, y):
        self.t += 1
        self.counts["examples"] += 1
        chosen = witness = False
        if self.audit and self.boundary is not None:
            u = uniform(self.seed, AUDIT, self.t)
            chosen = u < self.audit
            witness = chosen or u * self.t < 60
        stop = self.walk(x, y) if self.boundary is not None else None
        if stop is not None and not witness:
            self.counts["filtered"] += 1
            self.counts["read"] += stop
            self.counts["read_filtered"] += stop
            if not self.audit:
                self.take_moments(x, y, self.order[:stop])
            if self.rule == "pegasos":
                self.shrink()
        else:
            self.learn_from(x, y, chosen, witness, stop is not None)
        self.sum_w += self.t * self.w
        self.sum_b += self.t * self.b
        self.sum_weight += self.t

    def learn_from(self, x, y, chosen, witness, stopped):
        margin = y * (self.w @ x + self.b)
        self.counts["read"] += len(x)
        if witness:
            self.take_audit(x, y, chosen, margin < self.theta, stopped)
            self.changes += 1
        if self.boundary is not None and (witness or not self.audit):
            self.take_moments(x, y, range(len(x)))
        if self.rule in ("pegasos", "algorithm1"):
            self.shrink()
        length = step_length(self.rule, self.strength, self.t, margin, x @ x + 1)
        if length > 0:
            self.w = self.w + y * length * x
            self.b += y * length
            self.counts["updates"] += 1
            self.changes += 1
            size = math.sqrt(self.w @ self.w + self.b**2)
            if self.project and size > 1 / math.sqrt(self.strength):
                self.w, self.b = self.w / size / math.sqrt(self.strength), self.b / size / math.sqrt(self.strength)
        if self.changes >= self.next_reorder:
            if self.order_kind == "sorted":
                spread = np.sqrt(self.variance(-1) + self.variance(1)) if self.regress else 1.0
                self.order = order_by_magnitude(self.w * spread)
            self.next_reorder = int(self.changes * 1.15) + 1
            if self.boundary is not None:
                self.set_cushions()

    def measured(self):
        return getattr(self.boundary, "tail", "") != "hoeffding"

    def measure_width(self, x, y):
        seen = len(self.seen[y][0]) - 8
        variance = float(np.sum(self.w**2 * self.variance(y)))
        if seen < 0 or variance == 0 or not self.measured():
            return
        steps = self.w * (x - self.mean(y))
        self.width[y] = math.sqrt(following(self.width[y] ** 2, steps.sum() ** 2 / variance, seen))
        if self.regress:
            for k, position in enumerate(self.checkpoints):
                part = steps[self.order[:position]].sum()
                self.near[y][k] = following(self.near[y][k], part**2 / variance, seen)
                self.cross[y][k] = following(self.cross[y][k], part * steps.sum() / variance, seen)

    def shrink(self):
        self.w = self.w * (1 - 1 / self.t)
        self.b *= 1 - 1 / self.t

    def take_moments(self, x, y, features):
        for j in features:
            self.seen[y][j].append(x[j])

    def take_audit(self, x, y, chosen, important, stopped):
        self.counts["audited"] += chosen
        self.measure_width(x, y)
        delta = self.boundary.delta
        if self.t > 60:
            seen = len(self.seen[-1][0]) + len(self.seen[1][0])
            self.important_share = following(self.important_share, important, seen)
            if important:
                self.important += chosen
                self.missed += chosen and stopped
                self.tracked += 1
                self.multiplier *= math.exp(max(0.2, 0.5 / math.sqrt(self.tracked)) * (stopped - delta))
        centred = hasattr(self.boundary, "tail")
        level = min(delta, 0.4)
        rarity = norm.isf(level * self.important_share) / norm.isf(level) if centred else 1.0
        for label in (-1, 1):
            self.factor[label] = self.multiplier * rarity * (1.0 if self.regress else self.width[label])

    def averaged(self):
        return self.sum_w / self.sum_weight, self.sum_b / self.sum_weight


def read_row(plan, x):
    """Read one row by a plan; return its margins, the features read, and whether it stopped."""
    reached = np.zeros(len(plan.intercept))
    for k, end in enumerate(plan.checkpoints):
        values = np.array([float(x[feature]) for feature in plan.order[plan.first[k] : end]])
        weights = plan.weights[:, plan.begins[k] : plan.begins[k] + len(values)]
        reached = (reached if plan.first[k] else 0.0) + plan.shift[:, k] + weights @ values
        if len(reached) == 1:
            decided = reached[0] >= plan.upper[0, k] or reached[0] <= plan.lower[0, k]
        else:
            second, best = sorted(reached)[-2:]
            decided = best - second >= plan.upper[list(reached).index(best), k]
        if decided:
            return reached, end, True
    return plan.intercept + plan.coef @ np.asarray(x, dtype=float), len(x), False


def least_squares(X, target, weight, features):
    """Return the weighted least-squares fit of the target on some features, and the variance it leaves."""
    design = np.column_stack([X[:, features], np.ones(len(X))]) * np.sqrt(weight)[:, None]
    solution = np.linalg.lstsq(design, target * np.sqrt(weight), rcond=None)[0]
    left = weight @ (X[:, features] @ solution[:-1] + solution[-1] - target) ** 2
    return solution, left


def explained(covariance, with_scores, features):
    """Return the variance of the scores, less their mean, that some features explain together."""
    target = with_scores[features]
    target = target - target.mean(axis=1, keepdims=True) if target.shape[1] > 1 else target
    return float(np.sum(target * np.linalg.solve(covariance[np.ix_(features, features)], target))) if features else 0.0


def purchases(covariance, with_scores, purchase, price):
    """Return all purchases in the order of what each explains in addition, for its price."""
    bought, known = [], []
    while len(bought) < len(price):
        worth = {}
        for number in sorted(set(range(len(price))) - set(bought)):
            more = explained(covariance, with_scores, known + np.flatnonzero(purchase == number).tolist())
            worth[number] = (more - explained(covariance, with_scores, known)) / price[number]
        bought.append(max(worth, key=worth.get))
        known += np.flatnonzero(purchase == bought[-1]).tolist()
    return bought


def imputation(covariance, mean, absent, known):
    """Return slopes, constants and the covariance left of some features given others, from the normal equations."""
    slope = np.linalg.solve(covariance[np.ix_(known, known)], covariance[np.ix_(known, absent)])
    left = covariance[np.ix_(absent, absent)] - covariance[np.ix_(absent, known)] @ slope
    return slope, mean[absent] - mean[known] @ slope, left


def weights_without(weights, features, population, missing):
    """Return weights (scores, positions) that do without the missing features, a constant, and the variance left."""
    regression = population.regression
    covariance = regression.factor @ regression.factor.T
    place = {feature: position for position, feature in enumerate(regression.order.tolist())}
    total = {}  # of each feature, for an order may repeat it
    for feature, weight in zip(features.tolist(), weights.T, strict=True):
        total[feature] = total.get(feature, 0.0) + weight
    left = np.where(missing[features], 0.0, weights)
    constant, variance = np.zeros(len(weights)), np.zeros(len(weights))
    lost = [feature for feature in total if missing[feature]]
    known = [feature for feature in total if feature in place and not missing[feature]]
    absent = [feature for feature in lost if feature in place]
    for feature in set(lost) - set(absent):
        constant += total[feature] * population.mean[feature]
        variance += total[feature] ** 2 * population.variance[feature]
    if absent:
        slope, at_zero, uncertain = imputation(
            covariance, regression.mean, [place[feature] for feature in absent], [place[feature] for feature in known]
        )
        through = np.array([total[feature] for feature in absent]).T
        for feature, slopes in zip(known, slope, strict=True):
            left[:, features.tolist().index(feature)] += through @ slopes
        constant += through @ at_zero
        variance += np.array([row @ uncertain @ row for row in through])
    return left, constant, variance


def plan_without(plan, population, missing, delta):
    """Return the plan for rows that lack features."""
    width = -norm.ppf(delta / 2)
    weights, shift, lower, upper = (np.array(getattr(plan, name)) for name in ("weights", "shift", "lower", "upper"))
    variance = np.zeros(len(plan.intercept))
    for k, end in enumerate(plan.checkpoints):
        part = slice(plan.begins[k], plan.begins[k] + end - plan.first[k])
        features = plan.order[plan.first[k] : end]
        weights[:, part], constant, uncertain = weights_without(weights[:, part], features, population, missing)
        shift[:, k] += constant
        variance = uncertain + (variance if plan.first[k] else 0.0)
        demanded = width * math.sqrt(2 * variance.max() if len(variance) > 1 else variance[0])
        lower[:, k] -= demanded
        upper[:, k] += demanded
    coef, constant, _ = weights_without(plan.coef, np.arange(plan.n_features), population, missing)
    return plan._replace(
        weights=weights, shift=shift, lower=lower, upper=upper, coef=coef, intercept=plan.intercept + constant
    )


def spare_features(plan, level, confidence, population, prices, rows):
    """Return the sets of features without which all columns of these rows still bear out a level for every class.

    All tests together keep the confidence, by Bonferroni's correction.
    """
    full = decided(read_plan(plan.without_stops(), ArraySource(rows)).margin)
    sets = [(feature,) for feature in plan.order[:64].tolist()]
    sets += [tuple(prices.members(group).tolist()) for group in prices.groups]
    alpha = (1 - confidence) / len(set(sets))
    spare = set()
    for absent in sets:
        missing = np.isin(np.arange(plan.n_features), absent)
        without = plan_without(plan, population, missing, level)
        here = decided(read_plan(without, ArraySource(rows)).margin)
        chances = [
            binom.cdf(np.sum(others[those == label] != label), np.sum(those == label), level)
            for label in range(max(2, len(plan.coef)))
            for those, others in ((full, here), (here, full))
        ]
        if max(chances) <= alpha:
            spare.add(absent)
    return spare


class RememberingLearner:
    """Pegasos over several passes that skips, unread, what it remembers as clear; the rest is read in full.

    Rows are picked in blocks: what is skipped of a block is decided before any of it is read.
    """

    BLOCK = 512

    def __init__(self, n, strength, *, delta, audit, seed):
        self.strength, self.delta, self.audit, self.seed = strength, delta, audit, seed
        self.w, self.b, self.t = np.zeros(n), 0.0, 1
        self.sum_w, self.sum_b, self.sum_weight = np.zeros(n), 0.0, 0.0
        self.norms, self.clock, self.multiplier, self.tracked = [], 0.0, 1.0, 0
        self.begun = 0.0  # the clock when the pass began
        self.margins = {}  # row: by how much its margin exceeded 1, and the clock when the pass of its reading began
        self.skipped = self.updates = self.important = self.missed = 0

    def clear(self, row):
        excess, then = self.margins.get(row, (-math.inf, 0.0))
        wandering = 0.038 * self.multiplier * (np.mean(self.norms) if self.norms else 0.0)
        return excess > 0 and excess > wandering * math.sqrt(self.begun - then)

    def witness(self, t):
        u = uniform(self.seed, AUDIT, t)
        return u < self.audit, u < max(self.audit, 1 / 512) or u * t < 2

    def go_over(self, X, y, rows):
        self.begun = self.clock
        for start in range(0, len(rows), self.BLOCK):
            block = rows[start : start + self.BLOCK]
            skipped = [self.clear(row) and not self.witness(self.t + 1 + k)[1] for k, row in enumerate(block)]
            for row, skip in zip(block, skipped, strict=True):
                self.take(X[row], y[row], row, skip)

    def take(self, x, y, row, skip):
        self.t += 1
        if skip:
            self.skipped += 1
            self.shrink()
        else:
            self.read(x, y, row)
        self.sum_w += self.t * self.w
        self.sum_b += self.t * self.b
        self.sum_weight += self.t

    def read(self, x, y, row):
        margin = y * (self.w @ x + self.b)
        chosen, witness = self.witness(self.t)
        if witness and row in self.margins and margin < 1:
            missed = self.clear(row)
            self.important += chosen
            self.missed += chosen and missed
            self.tracked += 1
            self.multiplier *= math.exp(max(0.2, 0.5 / math.sqrt(self.tracked)) * (missed - self.delta))
        before = self.margins.get(row, (math.inf, 0.0))[0]
        excess = margin - 1 if margin - 1 <= before else (margin - 1 + float(before)) / 2  # what rose may fall back
        self.margins[row] = (np.float32(excess), self.begun)
        self.shrink()
        if margin < 1:
            self.updates += 1
            self.norms.append(x @ x + 1)
            self.clock += 1 / (self.strength * self.t) ** 2
            self.w, self.b = self.w + y * x / (self.strength * self.t), self.b + y / (self.strength * self.t)
            shrunk = min(1.0, 1 / math.sqrt(self.strength * (self.w @ self.w + self.b**2)))
            self.w, self.b = shrunk * self.w, shrunk * self.b

    def shrink(self):
        self.w, self.b = (1 - 1 / self.t) * self.w, (1 - 1 / self.t) * self.b

    def averaged(self):
        return self.sum_w / self.sum_weight, self.sum_b / self.sum_weight


def exponentiated_gradient(X, y, eta, norm, t=1):
    """Return the averaged weights and intercept after one pass, from 2 (n + 1) weights that are multiplied."""
    rows = np.column_stack([X, np.ones(len(X))])
    n, largest = X.shape[1], 1.0
    positive = np.full(n + 1, 1.0)
    negative = np.full(n + 1, 1.0)
    total, sum_weight = np.zeros(n + 1), 0.0
    for x, label in zip(rows, y, strict=True):
        t += 1
        w = norm * (positive - negative) / (positive.sum() + negative.sum())
        if label * (w @ x) < 1:
            largest = max(largest, np.abs(x).max())
            rate = eta * math.sqrt(math.log(2 * n) / t) / largest
            positive, negative = positive * np.exp(rate * label * x), negative * np.exp(-rate * label * x)
        total += t * norm * (positive - negative) / (positive.sum() + negative.sum())
        sum_weight += t
    return total[:-1] / sum_weight, total[-1] / sum_weight
