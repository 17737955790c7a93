// The pad: strokes by mouse, finger or pen, and by the keyboard.

const SVG = "http://www.w3.org/2000/svg";
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
  let strokes = [], line = null, down = false;

  function touch(point) {
    if (strokes.length === 0) begun();
    element.classList.add("drawn");
    strokes.push([point]);
    line = surface.insertBefore(svgElement("polyline"), pen);
    down = true;
    draw(point);
  }

  function draw(point) {
    strokes.at(-1).push(point);
    line.setAttribute("points", strokes.at(-1).join(" "));
  }

  function lift() {
    if (!down) return;
    down = false;
    element.classList.remove("down");
    drawn(strokes);
  }

  function clear() {
    strokes = [];
    down = false;
    element.classList.remove("down", "drawn");
    surface.replaceChildren(pen);
  }

  function place(event) {
    const box = surface.getBoundingClientRect();
    return [(SIDE * (event.clientX - box.left)) / box.width, (SIDE * (event.clientY - box.top)) / box.height];
  }

  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || down) return;
    element.setPointerCapture(event.pointerId);
    touch(place(event));
  });
  element.addEventListener("pointermove", (event) => {
    if (!down || !element.hasPointerCapture(event.pointerId)) return;
    const steps = event.getCoalescedEvents?.() ?? [];
    for (const step of steps.length ? steps : [event]) draw(place(step));
  });
  for (const end of ["pointerup", "pointercancel"]) element.addEventListener(end, lift);
  element.addEventListener("blur", lift);

  element.addEventListener("keydown", (event) => {
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
