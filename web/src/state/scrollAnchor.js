// Scroll anchoring for browsers without it. Figures and chapters that are drawn above the visible
// part of the page must not move that part.

import { place } from './place.svelte.js';

/**
 * Candidates for the anchor. Sticky elements, closed parts and figures that are still growing are
 * excluded, as in browsers' own scroll anchoring.
 */
const blocks =
  'main :is(h1, h2, p:not(figure *, .bar *, .problem), figure:not(.new)):not(details:not([open]) *)';

const hasAnchoring = () => getComputedStyle(document.documentElement).overflowAnchor === 'auto';

/** Finds the first visible block below the bar and its position on the page. */
function findAnchor() {
  const top = parseFloat(
    getComputedStyle(document.documentElement).getPropertyValue('--bar-height'),
  );
  for (const block of document.querySelectorAll(blocks)) {
    const box = block.getBoundingClientRect();
    if (box.height && box.bottom > (top || 0)) return { block, at: box.top + scrollY };
  }
  return null;
}

/** Keeps the visible part of the page in place. Returns a function that ends this behaviour. */
export function keepInSight() {
  /** @type {ReturnType<typeof findAnchor>} */
  let anchor = null;
  let frame = 0;
  function keep() {
    if (anchor?.block.isConnected && !place.isGoing && scrollY > 0) {
      const at = anchor.block.getBoundingClientRect().top + scrollY;
      if (at !== anchor.at) scrollBy({ top: at - anchor.at, behavior: 'instant' });
    }
    anchor = hasAnchoring() ? null : findAnchor();
  }
  // Runs before the browser paints the change.
  const observer = new ResizeObserver(keep);
  observer.observe(document.body);
  const onscroll = () => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      keep();
    });
  };
  addEventListener('scroll', onscroll, { passive: true });
  return () => {
    observer.disconnect();
    removeEventListener('scroll', onscroll);
    cancelAnimationFrame(frame);
  };
}
