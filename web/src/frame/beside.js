import { autoUpdate, computePosition, flip, hide, inline, offset, shift } from '@floating-ui/dom';

/** To the edges of the window, and to a place in the picture, in pixels. */
const [margin, gap] = [8, 10];

/**
 * Keeps an element at a place, and in the window, under the bar; out of sight with the place.
 *
 * @param {(element: HTMLElement) => Element} place what it speaks of, wherever that is by now
 * @param {{ placement: import('@floating-ui/dom').Placement, middleware: import('@floating-ui/dom').Middleware[], others?: import('@floating-ui/dom').Placement[], fixed?: boolean }} how
 *   others: in turn, where there is no room; fixed: over the window rather than the page
 * @returns {import('svelte/attachments').Attachment<HTMLElement>}
 */
const placed =
  (place, { placement, middleware, others, fixed }) =>
  (element) => {
    const reference = {
      getBoundingClientRect: () => place(element).getBoundingClientRect(),
      getClientRects: () => place(element).getClientRects(),
      contextElement: /** @type {Element} */ (element.parentElement),
    };
    async function update() {
      const bar = parseFloat(getComputedStyle(element).getPropertyValue('--bar-height')) || 0;
      const padding = { top: bar + margin, right: margin, bottom: margin, left: margin };
      const { x, y, middlewareData } = await computePosition(reference, element, {
        placement,
        strategy: fixed ? 'fixed' : 'absolute',
        middleware: [
          ...middleware,
          flip({ padding, fallbackPlacements: others, crossAxis: true }),
          shift({ padding, crossAxis: !fixed }),
          hide({ padding }),
        ],
      });
      element.style.translate = `${x}px ${y}px`;
      element.style.visibility = middlewareData.hide?.referenceHidden ? 'hidden' : '';
    }
    // The place moves along with pointers and keys.
    const stop = autoUpdate(reference, element, update, { animationFrame: true });
    return () => {
      stop();
      element.style.translate = element.style.visibility = '';
    };
  };

/**
 * Keeps an element beside a place in the picture: off its row and its column where there is room.
 * @param {(element: HTMLElement) => Element} place
 * @param {{ above: boolean }} options above: rather than below, where a hand would cover it
 */
export const beside = (place, { above }) => {
  const sides = /** @type {const} */ ([...['bottom-start', 'bottom-end', 'top-start', 'top-end']]);
  const [placement, ...others] = above ? [...sides.slice(2), ...sides.slice(0, 2)] : sides;
  const middleware = [
    offset(({ rects }) => ({ mainAxis: gap, alignmentAxis: rects.reference.width + gap })),
  ];
  return placed(place, { placement, middleware, others });
};

/**
 * Keeps an element over a word, or below it, at its first line where it breaks.
 * @param {(element: HTMLElement) => Element} word
 */
export const over = (word) =>
  placed(word, { placement: 'top-start', middleware: [inline()], fixed: true });
