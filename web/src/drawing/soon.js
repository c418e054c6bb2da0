// Draws many small pictures one after another, a few per frame, so that the page stays responsive.

/** Longest time that drawing takes per frame, in ms. */
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

/** Draws all waiting canvases at once, because printing does not wait for frames. */
export function drawAll() {
  for (const draw of waiting.values()) draw();
  waiting.clear();
}

/**
 * Queues a canvas for drawing. Returns a function that removes it from the queue.
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
