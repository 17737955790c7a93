// The display: the image, its pixels as they are read, the walk, and the label.

const TINT = [36, 103, 165];
const PIXEL_TIME = 28; // milliseconds, within these bounds for a whole reading
const SHORTEST = 700, LONGEST = 3500;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** Paint shades of ink on white, and over it the pixels read so far, the first in the strongest tint. */
function paint(canvas, shades, order, read) {
  const context = canvas.getContext("2d");
  const picture = context.createImageData(SIDE, SIDE);
  shades.forEach((shade, place) => picture.data.set([255 - shade, 255 - shade, 255 - shade, 255], 4 * place));
  for (let k = 0; k < read; k++) {
    const tint = 0.9 - (0.6 * k) / Math.max(read, 60);
    for (let channel = 0; channel < 3; channel++) {
      const at = 4 * order[k] + channel;
      picture.data[at] = tint * TINT[channel] + (1 - tint) * picture.data[at];
    }
  }
  context.putImageData(picture, 0, 0);
}

/** Return the order in which pixels are read to the very end: the plan's own, then the others from the top. */
function wholeOrder(plan) {
  const planned = new Set(plan.order);
  const others = Array.from({ length: plan.pixels }, (_, pixel) => pixel).filter((pixel) => !planned.has(pixel));
  return [...plan.order, ...others];
}

/** Return the result in words. */
function inWords(plan, reading, full, label) {
  const words = [
    reading.stopped
      ? `Read as ${reading.label} after ${reading.read} of ${plan.pixels} pixels.`
      : `Read as ${reading.label} after all ${plan.pixels} pixels: no checkpoint was clear.`,
  ];
  if (label !== null) words.push(`The digit is a ${label}.`);
  if (reading.stopped) {
    words.push(
      full === reading.label
        ? `From all ${plan.pixels} the model reads ${full}, too.`
        : `From all ${plan.pixels} the model reads ${full}: this stop was too early.`,
    );
  }
  return words.join(" ");
}

/** Bring the section to life. */
function watchDigits(section, content) {
  const plan = planFrom(content.plan), order = wholeOrder(plan);
  const find = (name) => section.querySelector(`#${name}`);
  const showWalk = makeWalk(find("walk"), plan);
  const images = unpacked(content.images, Uint8Array);
  let shown = null, frame = 0;

  function show(state, read) {
    const ended = read === state.reading.read;
    const seen = state.reading.path.findLast((point) => point.read <= read);
    paint(find("eye"), state.shades, order, read);
    showWalk(state.reading.path, read);
    find("said").textContent = seen ? seen.best : "?";
    find("said").classList.toggle("ended", ended);
    find("read").textContent = read;
    find("words").textContent = ended ? state.words : "";
  }

  function play() {
    cancelAnimationFrame(frame);
    const state = shown;
    const length = Math.min(Math.max(PIXEL_TIME * state.reading.read, SHORTEST), LONGEST);
    const begun = performance.now();
    function step(now) {
      const share = calm.matches ? 1 : Math.min(Math.max((now - begun) / length, 0), 1);
      const read = Math.ceil(share * state.reading.read);
      show(state, read);
      if (read < state.reading.read) frame = requestAnimationFrame(step);
    }
    step(begun);
  }

  function read(shades, label) {
    const values = scaledShades(shades);
    const reading = readByPlan(plan, values);
    shown = { shades, reading, words: inWords(plan, reading, readInFull(plan, values).best, label) };
    play();
  }

  function press(chosen) {
    for (const button of find("samples").children) button.setAttribute("aria-pressed", button === chosen);
  }

  const pad = makePad(find("pad"), () => press(null), (strokes) => read(asImage(strokes), null));
  content.labels.forEach((label, k) => {
    const shades = images.subarray(k * plan.pixels, (k + 1) * plan.pixels);
    const button = document.createElement("button");
    const canvas = button.appendChild(document.createElement("canvas"));
    canvas.width = canvas.height = SIDE;
    button.type = "button";
    button.setAttribute("aria-label", `Test digit ${label}, ${content.kinds[Math.floor(k / 10)]}`);
    button.addEventListener("click", () => {
      pad.clear();
      press(button);
      read(shades, label);
    });
    paint(canvas, shades, order, 0);
    find("samples").append(button);
  });
  find("clear").addEventListener("click", () => {
    pad.clear();
    find("pad").focus();
  });
  find("again").addEventListener("click", play);
  find("samples").children[content.begin].click();
  // Announce the readings that the visitor asks for, unlike this first one.
  const announce = () => find("words").setAttribute("aria-live", "polite");
  for (const act of ["click", "keydown", "pointerdown"]) section.addEventListener(act, announce, { once: true, capture: true });
}

watchDigits(document.getElementById("draw"), JSON.parse(document.getElementById("content").textContent));
