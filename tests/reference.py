"""Slow, obvious implementations beside the kernels: plain loops, no scale factor, no blocks, no lazy sums."""

import math

import numpy as np
from scipy.stats import norm

from saccade.kernels.randomness import AUDIT, uniform


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


def order_by_magnitude(weights):
    """Sort by |w|, largest first, ties and near ties by feature; as float32 bits, because that is what an octave is."""
    keys = np.abs(weights).astype(np.float32).view(np.int32).astype(np.int64) >> 19
    return sorted(range(len(weights)), key=lambda j: (min(keys.max() - keys[j], 511), j))


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
        self.checkpoints = []
        position = 8
        while position < n and boundary is not None:
            self.checkpoints.append(position)
            position = max(position + 8, int(position * 1.5) // 8 * 8)
        self.cushions = {y: [math.inf] * len(self.checkpoints) for y in (-1, 1)}
        self.seen = {y: [[] for _ in range(n)] for y in (-1, 1)}  # every value that taught the moments
        self.multiplier = boundary.law(theta).caution if audit and boundary else 1.0
        self.next_reorder = self.tracked = 0
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
                self.cushions[y][k] = (
                    cushion(
                        self.boundary,
                        self.theta,
                        float(np.sum(self.w**2 * variance)),
                        float(np.sum(self.w[rest] ** 2 * variance[rest])),
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
            expected = middle.copy()
            read = self.order[:position]
            expected[read] = x[read]
            excess = y * (self.w @ expected + self.b) - self.theta
            demanded = self.multiplier * self.cushions[y][k]
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
        weight = self.t if self.rule in ("pegasos", "algorithm1") else 1.0
        self.sum_w += weight * self.w
        self.sum_b += weight * self.b
        self.sum_weight += weight

    def learn_from(self, x, y, chosen, witness, stopped):
        margin = y * (self.w @ x + self.b)
        self.counts["read"] += len(x)
        if self.boundary is not None and (witness or not self.audit):
            self.take_moments(x, y, range(len(x)))
        if witness:
            self.take_audit(chosen, margin < self.theta, stopped)
        if self.rule in ("pegasos", "algorithm1"):
            self.shrink()
        length = step_length(self.rule, self.strength, self.t, margin, x @ x + 1)
        if length > 0:
            self.w = self.w + y * length * x
            self.b += y * length
            self.counts["updates"] += 1
            size = math.sqrt(self.w @ self.w + self.b**2)
            if self.project and size > 1 / math.sqrt(self.strength):
                self.w, self.b = self.w / size / math.sqrt(self.strength), self.b / size / math.sqrt(self.strength)
            if self.counts["updates"] >= self.next_reorder:
                if self.order_kind == "sorted":
                    self.order = order_by_magnitude(self.w)
                self.next_reorder = int(self.counts["updates"] * 1.15) + 1
                if self.boundary is not None:
                    self.set_cushions()

    def shrink(self):
        self.w = self.w * (1 - 1 / self.t)
        self.b *= 1 - 1 / self.t

    def take_moments(self, x, y, features):
        for j in features:
            self.seen[y][j].append(x[j])

    def take_audit(self, chosen, important, stopped):
        self.counts["audited"] += chosen
        if not important:
            return
        self.important += chosen
        self.missed += chosen and stopped
        self.tracked += 1
        rate = max(0.1, 0.5 / math.sqrt(self.tracked))
        self.multiplier *= math.exp(rate * (stopped - self.boundary.delta))

    def averaged(self):
        return self.sum_w / self.sum_weight, self.sum_b / self.sum_weight


def read_row(plan, x):
    """Read one row by a plan; return margin, features read, and whether it stopped."""
    for k, end in enumerate(plan.checkpoints):
        reached = plan.offset + sum(plan.weights[p] * float(x[plan.order[p]]) for p in range(end))
        if reached >= plan.upper[k] or reached <= plan.lower[k]:
            return reached, end, True
    return plan.offset + sum(w * float(value) for w, value in zip(plan.coef, x, strict=True)), len(x), False
