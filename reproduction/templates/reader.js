// The reader: an image, read by a plan until the label is clear. It adds the same doubles in the same order as the
// readers in Python do, so that it stops where they stop.

/** Return the array that a base64 text holds. */
function unpacked(text, Kind) {
  return new Kind(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer);
}

/** Return the plan that the page carries, with arrays in place of texts; weights and thresholds lie score by score. */
function planFrom(packed) {
  const plan = {
    order: unpacked(packed.order, Uint32Array),
    checkpoints: unpacked(packed.checkpoints, Uint32Array),
    first: unpacked(packed.first, Uint32Array),
    begins: unpacked(packed.begins, Uint32Array),
    weights: unpacked(packed.weights, Float32Array),
    shift: unpacked(packed.shift, Float64Array),
    upper: unpacked(packed.upper, Float64Array),
    coef: unpacked(packed.coef, Float32Array),
    intercept: unpacked(packed.intercept, Float64Array),
  };
  plan.scores = plan.intercept.length;
  plan.pixels = plan.coef.length / plan.scores;
  return plan;
}

/** Return shades from 0 to 255 in the units of the weights: from 0 to 1, in single precision. */
function scaledShades(shades) {
  return Float32Array.from(shades, (shade) => shade / 255);
}

/** Return the best score's place, how far it leads the second best, and all scores. */
function standing(scores) {
  let best = 0;
  for (let c = 1; c < scores.length; c++) if (scores[c] > scores[best]) best = c;
  let second = -Infinity;
  for (let c = 0; c < scores.length; c++) if (c !== best) second = Math.max(second, scores[c]);
  return { scores, best, lead: scores[best] - second };
}

/** Return the scores at checkpoint k, which go on from those before it or begin anew. */
function weighed(plan, k, values, before) {
  const first = plan.first[k];
  const weightsOfScore = plan.weights.length / plan.scores;
  return Float64Array.from(plan.intercept, (_, c) => {
    let score = plan.shift[c * plan.checkpoints.length + k] + (first > 0 ? before[c] : 0);
    const begin = c * weightsOfScore + plan.begins[k] - first;
    for (let p = first; p < plan.checkpoints[k]; p++) score += plan.weights[begin + p] * values[plan.order[p]];
    return score;
  });
}

/** Read every pixel. */
function readInFull(plan, values) {
  const scores = Float64Array.from(plan.intercept, (intercept, c) => {
    let sum = 0;
    for (let j = 0; j < plan.pixels; j++) sum += plan.coef[c * plan.pixels + j] * values[j];
    return intercept + sum;
  });
  return { ...standing(scores), read: plan.pixels, demanded: 0 };
}

/**
 * Read until a checkpoint decides, or to the end.
 *
 * Returns the label, how many pixels were read, whether that is because a checkpoint decided, and what was seen at each
 * checkpoint: pixels read, scores, which one leads, its lead and the lead that is demanded of it.
 */
function readByPlan(plan, values) {
  const path = [];
  let scores = null;
  for (let k = 0; k < plan.checkpoints.length; k++) {
    scores = weighed(plan, k, values, scores);
    const seen = standing(scores);
    const demanded = plan.upper[seen.best * plan.checkpoints.length + k];
    path.push({ ...seen, read: plan.checkpoints[k], demanded });
    if (seen.lead >= demanded) return { label: seen.best, read: plan.checkpoints[k], stopped: true, path };
  }
  const end = readInFull(plan, values);
  path.push(end);
  return { label: end.best, read: end.read, stopped: false, path };
}
