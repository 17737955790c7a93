// The walk: how far the best digit leads after so many pixels, and the lead at which reading stops.

const PLOT = { left: 44, right: 366, top: 12, bottom: 216, height: 260 };
const TICKS = [10, 30, 100, 300];

/** Return functions from pixels read and from leads to places in the plot. */
function scales(plan) {
  const first = plan.checkpoints[0], most = Math.max(...plan.upper.filter(Number.isFinite));
  const from = Math.log(0.9 * first), to = Math.log(plan.pixels);
  return {
    across: (read) => PLOT.left + ((PLOT.right - PLOT.left) * (Math.log(read) - from)) / (to - from),
    up: (lead) => PLOT.bottom - ((PLOT.bottom - PLOT.top) * Math.min(lead, most)) / most,
    most,
  };
}

function svgText(text, attributes) {
  const element = svgElement("text", attributes);
  element.textContent = text;
  return element;
}

function points(places) {
  return places.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
}

/** Return the least of 1, 2, 5, 10, 20, … that is no less than a number. */
function roundStep(least) {
  const power = 10 ** Math.max(Math.floor(Math.log10(least)), 0);
  return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= least);
}

/** Draw the axes into an SVG; return a function that draws a walk as far as so many pixels. */
function makeWalk(svg, plan) {
  const { across, up, most } = scales(plan);
  const axes = svg.appendChild(svgElement("g", { class: "axes" }));
  axes.append(
    svgElement("path", { d: `M${PLOT.left},${PLOT.top}V${PLOT.bottom}H${PLOT.right}` }),
    svgText("pixels read", { x: PLOT.right, y: PLOT.height - 8, "text-anchor": "end" }),
    svgText("lead of the best digit", { x: -PLOT.top, y: 14, transform: "rotate(-90)", "text-anchor": "end" }),
  );
  for (const read of [...TICKS.filter((tick) => tick > plan.checkpoints[0]), plan.pixels]) {
    axes.append(
      svgElement("path", { d: `M${across(read)},${PLOT.bottom}v4` }),
      svgText(read, { x: across(read), y: PLOT.bottom + 17, "text-anchor": "middle" }),
    );
  }
  const step = roundStep(most / 6);
  for (let lead = 0; lead <= most; lead += step) {
    axes.append(
      svgElement("path", { d: `M${PLOT.left},${up(lead)}h-4` }),
      svgText(lead, { x: PLOT.left - 8, y: up(lead) + 4, "text-anchor": "end" }),
    );
  }
  const drawing = svg.appendChild(svgElement("g"));

  /** Return where the boundary lies: what was demanded of those that led, then what is of the one that leads now. */
  function boundary(seen) {
    const leading = seen.at(-1)?.best ?? 0;
    return Array.from(plan.checkpoints, (read, k) => [
      across(read),
      up(seen[k]?.demanded ?? plan.upper[leading * plan.checkpoints.length + k]),
    ]);
  }

  return function show(path, read) {
    const seen = path.filter((point) => point.read <= read);
    const places = seen.map((point) => [across(point.read), up(point.lead)]);
    const line = boundary(seen);
    const [from] = line[0], [to] = line.at(-1);
    drawing.replaceChildren(
      svgElement("polygon", { class: "clear", points: points([[from, PLOT.top], ...line, [to, PLOT.top]]) }),
      svgElement("polyline", { class: "boundary", points: points(line) }),
      svgText("clear: stop", { class: "hint", x: to - 8, y: PLOT.top + 20, "text-anchor": "end" }),
      svgElement("polyline", { class: "walk", points: points(places) }),
      ...places.flatMap(([x, y], k) => {
        const last = k === places.length - 1, kind = last ? "now" : "then";
        return [
          svgElement("circle", { class: kind, cx: x, cy: y, r: last ? 9 : 6.5 }),
          svgText(seen[k].best, { class: kind, x, y: y + 4, "text-anchor": "middle" }),
        ];
      }),
    );
  };
}
