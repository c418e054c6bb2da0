// Many small pictures: drawn one after the other, some in each frame, so that the page goes on between them.

/** Longest that drawing takes of a frame, in ms. */
const share = 5;

/** @type {Map<HTMLCanvasElement, () => void>} */
const waiting = new Map();
let asked = 0;

function drawSome() {
  const start = performance.now();
  asked = 0;
  for (const [canvas, draw] of waiting) {
    waiting.delete(canvas);
    draw();
    if (performance.now() - start > share) break;
  }
  if (waiting.size) asked = requestAnimationFrame(drawSome);
}

/** Draws everything that is waiting at once, because printing does not wait for frames. */
export function drawAll() {
  for (const draw of waiting.values()) draw();
  waiting.clear();
}

/**
 * Draws a canvas when its turn comes. Returns a function that takes it back.
 * @param {HTMLCanvasElement} canvas
 * @param {() => void} draw
 */
export function drawSoon(canvas, draw) {
  waiting.set(canvas, draw);
  asked ||= requestAnimationFrame(drawSome);
  return () => {
    if (waiting.get(canvas) === draw) waiting.delete(canvas);
  };
}
