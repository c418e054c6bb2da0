import { autoUpdate, computePosition, flip, hide, offset, shift } from '@floating-ui/dom';

/** To the edges of the window, and to the place itself, in pixels. */
const [margin, gap] = [8, 10];

/**
 * Keeps an element beside a place in the picture: off its row and its column where there is room, and
 * always in the window, under the bar.
 *
 * @param {(element: HTMLElement) => Element} place what it speaks of, wherever that is by now
 * @param {{ above: boolean }} options above: rather than below, where a hand would cover it
 * @returns {import('svelte/attachments').Attachment<HTMLElement>}
 */
export const beside = (place, { above }) => {
  const sides = /** @type {const} */ ([...['bottom-start', 'bottom-end', 'top-start', 'top-end']]);
  const [first, ...others] = above ? [...sides.slice(2), ...sides.slice(0, 2)] : sides;

  return (element) => {
    const reference = {
      getBoundingClientRect: () => place(element).getBoundingClientRect(),
      contextElement: /** @type {Element} */ (element.parentElement),
    };
    async function update() {
      const bar = parseFloat(getComputedStyle(element).getPropertyValue('--bar-height')) || 0;
      const padding = { top: bar + margin, right: margin, bottom: margin, left: margin };
      const { x, y, middlewareData } = await computePosition(reference, element, {
        placement: first,
        middleware: [
          offset(({ rects }) => ({ mainAxis: gap, alignmentAxis: rects.reference.width + gap })),
          flip({ padding, fallbackPlacements: others, crossAxis: true }),
          shift({ padding, crossAxis: true }),
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
};
