// The pad: strokes by mouse, finger or pen, and by the keyboard.

const SVG = "http://www.w3.org/2000/svg";
const CLOSE = 0.1; // of a pixel: a point so near to the last one adds nothing that is seen
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Return a new SVG element with attributes. */
function svgElement(name, attributes = {}) {
  const element = document.createElementNS(SVG, name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  return element;
}

/**
 * Let strokes be drawn on an element that holds an SVG of 28 by 28 units.
 *
 * ``drawn`` is called with all strokes whenever the pen is lifted, ``begun`` when it first touches an empty pad.
 */
function makePad(element, begun, drawn) {
  const surface = element.querySelector("svg");
  const pen = surface.appendChild(svgElement("circle", { class: "pen", r: 1.2, cx: CENTRE, cy: CENTRE }));
  let strokes = [], line = null, down = false, pointer = null; // the finger or mouse that draws, none by keyboard

  function touch(point) {
    if (strokes.length === 0) begun();
    element.classList.add("drawn");
    strokes.push([point]);
    line = surface.insertBefore(svgElement("polyline"), pen);
    down = true;
    draw(point);
  }

  function draw(point) {
    const stroke = strokes.at(-1);
    if (stroke.length > 1 && Math.hypot(point[0] - stroke.at(-1)[0], point[1] - stroke.at(-1)[1]) < CLOSE) return;
    stroke.push(point);
    line.setAttribute("points", stroke.join(" "));
  }

  function lift() {
    if (!down) return;
    down = false;
    pointer = null;
    element.classList.remove("down");
    drawn(strokes);
  }

  function clear() {
    strokes = [];
    down = false;
    pointer = null;
    element.classList.remove("down", "drawn");
    surface.replaceChildren(pen);
  }

  /** Return where a pointer is; outside of the pad, where nothing is seen, the nearest place on its edge. */
  function place(event) {
    const box = surface.getBoundingClientRect();
    const at = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    return at.map((share) => SIDE * Math.min(Math.max(share, 0), 1));
  }

  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || pointer !== null) return;
    lift(); // what the keyboard was drawing
    pointer = event.pointerId;
    element.setPointerCapture(pointer);
    touch(place(event));
  });
  element.addEventListener("pointermove", (event) => {
    if (event.pointerId !== pointer) return;
    const steps = event.getCoalescedEvents?.() ?? [];
    for (const step of steps.length ? steps : [event]) draw(place(step));
  });
  for (const end of ["pointerup", "pointercancel"]) {
    element.addEventListener(end, (event) => event.pointerId === pointer && lift());
  }
  element.addEventListener("blur", lift);

  element.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return; // the browser's own
    const at = [Number(pen.getAttribute("cx")), Number(pen.getAttribute("cy"))];
    if (event.key in ARROWS) {
      const to = at.map((value, axis) => Math.min(Math.max(value + ARROWS[event.key][axis], 1), SIDE - 1));
      pen.setAttribute("cx", to[0]);
      pen.setAttribute("cy", to[1]);
      if (down) draw(to);
    } else if (event.key === " ") {
      if (!event.repeat && down) {
        lift();
      } else if (!event.repeat) {
        touch(at);
        element.classList.add("down");
      }
    } else {
      return;
    }
    event.preventDefault();
  });
  return { clear };
}
