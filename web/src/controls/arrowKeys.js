/**
 * Returns the index of the box to which an arrow key, Home or End moves the focus. The boxes are
 * laid out in lines.
 * @param {readonly { left: number, top: number }[]} boxes
 * @param {number} from
 * @param {string} key
 * @returns {number | null}
 */
export function neighbour(boxes, from, key) {
  const last = boxes.length - 1;
  if (from < 0) return null;
  if (key === 'ArrowLeft') return Math.max(0, from - 1);
  if (key === 'ArrowRight') return Math.min(last, from + 1);
  if (key === 'Home') return 0;
  if (key === 'End') return last;
  if (key !== 'ArrowUp' && key !== 'ArrowDown') return null;
  const { left, top } = boxes[from];
  const beyond = boxes
    .map((box, index) => ({ left: box.left, top: box.top, index }))
    .filter((box) => (key === 'ArrowUp' ? box.top < top - 1 : box.top > top + 1));
  const line =
    key === 'ArrowUp'
      ? Math.max(...beyond.map((box) => box.top))
      : Math.min(...beyond.map((box) => box.top));
  const [nearest] = beyond
    .filter((box) => Math.abs(box.top - line) < 1)
    .sort((a, b) => Math.abs(a.left - left) - Math.abs(b.left - left));
  return nearest?.index ?? from;
}

/**
 * Moves the focus between the buttons of a group with the arrow keys, Home and End. Handles the
 * group's `keydown` event.
 * @param {KeyboardEvent} event
 */
export function moveFocus(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const group = /** @type {HTMLElement} */ (event.currentTarget);
  const buttons = [...group.querySelectorAll('button')];
  const next = neighbour(
    buttons.map((button) => button.getBoundingClientRect()),
    buttons.indexOf(/** @type {HTMLButtonElement} */ (event.target)),
    event.key,
  );
  if (next === null) return;
  event.preventDefault();
  buttons[next].focus();
}
