// From strokes to an image such as MNIST's, set upright: scaled to a box of 20 by 20 pixels, antialiased, and placed with
// the centre of its mass in the centre of 28 by 28.

const SIDE = 28;
const BOX = 20;
const RADIUS = 1.2; // of the pen, in pixels of the image, about as thick as MNIST's strokes are
const CENTRE = 14; // where MNIST has the centre of mass, counted from the middle of the first pixel
const MOST_LEAN = 1; // columns a row: what lies is not made to stand
const SMALLEST = 4; // a drawing that is smaller on the pad than this is not blown up to the whole box

/** Return the distance of a point from the segment between two others. */
function distanceToSegment(x, y, [ax, ay], [bx, by]) {
  const dx = bx - ax, dy = by - ay;
  const length2 = dx * dx + dy * dy;
  const along = length2 > 0 ? Math.min(Math.max(((x - ax) * dx + (y - ay) * dy) / length2, 0), 1) : 0;
  return Math.hypot(x - ax - along * dx, y - ay - along * dy);
}

/** Return the first and the last pixel along an axis that a segment with this reach may touch. */
function touched(a, b, reach) {
  const within = (pixel) => Math.min(Math.max(pixel, 0), SIDE - 1);
  return [within(Math.ceil(Math.min(a, b) - reach)), within(Math.floor(Math.max(a, b) + reach))];
}

/** Darken the pixels along a segment; a pixel's shade is how far the round pen covers it. */
function ink(shades, a, b) {
  const reach = RADIUS + 0.5;
  const [left, right] = touched(a[0], b[0], reach), [top, bottom] = touched(a[1], b[1], reach);
  for (let row = top; row <= bottom; row++) {
    for (let column = left; column <= right; column++) {
      const covered = Math.min(Math.max(reach - distanceToSegment(column, row, a, b), 0), 1);
      const place = row * SIDE + column;
      shades[place] = Math.max(shades[place], Math.round(255 * covered));
    }
  }
}

/** Return 784 shades from 0 to 255 of strokes, each a list of points. */
function inked(strokes) {
  const shades = new Uint8Array(SIDE * SIDE);
  for (const stroke of strokes) stroke.forEach((point, k) => ink(shades, stroke[Math.max(k - 1, 0)], point));
  return shades;
}

/** Return the mean column and row of the ink. */
function centreOfMass(shades) {
  let mass = 0, across = 0, down = 0;
  shades.forEach((shade, place) => {
    mass += shade;
    across += shade * (place % SIDE);
    down += shade * Math.floor(place / SIDE);
  });
  return [across / mass, down / mass];
}

/** Return the strokes with every point mapped. */
function moved(strokes, map) {
  return strokes.map((stroke) => stroke.map(map));
}

/** Return the smallest and the largest of many numbers: too many to be arguments of one call. */
function extent(values) {
  return values.reduce(([least, most], value) => [Math.min(least, value), Math.max(most, value)], [Infinity, -Infinity]);
}

/** Return by how many columns a row the ink leans; ten_digits.py does the same to images. */
function leanOf(shades) {
  const [across, down] = centreOfMass(shades);
  let together = 0, alone = 0;
  shades.forEach((shade, place) => {
    const height = Math.floor(place / SIDE) - down;
    together += shade * height * ((place % SIDE) - across);
    alone += shade * height * height;
  });
  return Math.min(Math.max(together / alone, -MOST_LEAN), MOST_LEAN);
}

/** Return strokes, in any units in which the pad is 28 wide, fitted into the box and centred by their ink. */
function placed(strokes) {
  const points = strokes.flat();
  const [left, right] = extent(points.map(([x]) => x)), [top, bottom] = extent(points.map(([, y]) => y));
  const scale = (BOX - 2 * RADIUS) / Math.max(right - left, bottom - top, SMALLEST);
  const fitted = moved(strokes, ([x, y]) => [
    CENTRE + scale * (x - (left + right) / 2),
    CENTRE + scale * (y - (top + bottom) / 2),
  ]);
  const [across, down] = centreOfMass(inked(fitted));
  return moved(fitted, ([x, y]) => [x + CENTRE - across, y + CENTRE - down]);
}

/** Return strokes, set upright, as an image of 784 shades. */
function asImage(strokes) {
  const lean = leanOf(inked(placed(strokes)));
  return inked(placed(moved(strokes, ([x, y]) => [x - lean * y, y])));
}
