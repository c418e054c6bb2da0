import { autoUpdate, computePosition, flip, hide, inline, offset, shift } from '@floating-ui/dom';

/** Distances to the window's edges and to the described place, in pixels. */
const [margin, gap] = [8, 10];

/**
 * @typedef {object} Way
 * @property {import('@floating-ui/dom').Placement[]} placements where to put the element, in order
 *   of preference
 * @property {import('@floating-ui/dom').Middleware} away adjusts the position, for example by a
 *   distance from the place
 */

/**
 * Keeps an element next to a place, within the window and below the bar. Hides the element while
 * the place is out of sight.
 * @param {(element: HTMLElement) => Element} place returns the described element, which may change
 * @param {{ ways: Way[], covers?: (element: HTMLElement) => boolean, fixed?: boolean }} how ways:
 *   placements to try in order until `covers` returns false; fixed: position relative to the window
 *   rather than the page
 * @returns {import('svelte/attachments').Attachment<HTMLElement>}
 */
const placed =
  (place, { ways, covers, fixed }) =>
  (element) => {
    const reference = {
      getBoundingClientRect: () => place(element).getBoundingClientRect(),
      getClientRects: () => place(element).getClientRects(),
      contextElement: /** @type {Element} */ (element.parentElement),
    };
    async function update() {
      const bar = parseFloat(getComputedStyle(element).getPropertyValue('--bar-height')) || 0;
      const padding = { top: bar + margin, right: margin, bottom: margin, left: margin };
      for (const { placements, away } of ways) {
        const [placement, ...fallbackPlacements] = placements;
        const { x, y, middlewareData } = await computePosition(reference, element, {
          placement,
          strategy: fixed ? 'fixed' : 'absolute',
          middleware: [
            away,
            flip({ padding, fallbackPlacements, crossAxis: true }),
            shift({ padding, crossAxis: !fixed }),
            hide({ padding }),
          ],
        });
        element.style.translate = `${x}px ${y}px`;
        element.style.visibility = middlewareData.hide?.referenceHidden ? 'hidden' : '';
        if (!covers?.(element)) return;
      }
    }
    // Update in every frame, because the place moves with the pointer and the keys.
    const stop = autoUpdate(reference, element, update, { animationFrame: true });
    return () => {
      stop();
      element.style.translate = element.style.visibility = '';
    };
  };

/** The interactive map, such as a heatmap, that contains a cell. @param {Element} cell */
const mapOf = (cell) => cell.closest('[role=application]') ?? cell;

/**
 * Keeps an element next to a cell of a heatmap or chart ("map"). If there is enough space, the
 * element covers neither the cell's row and column nor the text under the map.
 * @param {(element: HTMLElement) => Element} place
 * @param {{ above: boolean }} options above: put the element above the whole map, because the
 *   reader's hand covers the space below
 */
export const beside = (place, { above }) => {
  /**
   * @param {boolean} up
   * @param {boolean} whole true if no part of the map may be covered; otherwise only
   *   the row stays uncovered
   * @returns {Way}
   */
  const way = (up, whole = false) => ({
    placements: (up ? ['top', 'bottom'] : ['bottom', 'top']).flatMap(
      (side) => /** @type {Way['placements']} */ ([`${side}-start`, `${side}-end`]),
    ),
    away: offset(({ rects, elements }) => {
      const cell = place(elements.floating);
      const rows = whole
        ? cell.getBoundingClientRect().top - mapOf(cell).getBoundingClientRect().top
        : 0;
      return { mainAxis: gap + rows, alignmentAxis: rects.reference.width + gap };
    }),
  });
  return placed(place, {
    ways: above ? [way(true, true), way(true)] : [way(false), way(true)],
    covers(element) {
      const card = element.getBoundingClientRect();
      const isAcross = (/** @type {DOMRect} */ { top, bottom }) =>
        card.top < bottom && top < card.bottom;
      const cell = place(element);
      const map = mapOf(cell);
      const next = map.nextElementSibling ?? map.parentElement?.nextElementSibling;
      if (isAcross(cell.getBoundingClientRect())) return true;
      if (!next?.matches('p')) return false;
      const said = next.getBoundingClientRect();
      return isAcross(said) && card.left < said.right && said.left < card.right;
    },
  });
};

/**
 * Keeps an element aligned with a place in a picture, but outside the picture: below it if there is
 * enough space, otherwise above it.
 * @param {(element: HTMLElement) => Element} place
 * @param {() => Element | null} picture
 */
export const under = (place, picture) =>
  placed(place, {
    ways: [
      {
        placements: ['bottom', 'top'],
        away: offset(({ placement, elements }) => {
          const cell = place(elements.floating).getBoundingClientRect();
          const box = picture()?.getBoundingClientRect() ?? cell;
          return gap + (placement === 'top' ? cell.top - box.top : box.bottom - cell.bottom);
        }),
      },
    ],
  });

/**
 * Keeps an element above or below a word, at the word's first line if the word is broken across
 * lines.
 * @param {(element: HTMLElement) => Element} word
 */
export const over = (word) =>
  placed(word, {
    ways: [{ placements: ['top-start', 'bottom-start'], away: inline() }],
    fixed: true,
  });
