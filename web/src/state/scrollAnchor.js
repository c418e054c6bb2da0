// Scroll anchoring for browsers without it: figures and chapters that are drawn above what the reader
// looks at must not move it.

import { place } from './place.svelte.js';

/**
 * What a reader looks at, without what sticks to the window. Figures that still grow are left out, as they are
 * for browsers' own anchoring.
 */
const blocks = 'main :is(h1, h2, p:not(figure *, .bar *, .problem), figure:not(.new))';

const hasAnchoring = () => getComputedStyle(document.documentElement).overflowAnchor === 'auto';

/** The first block in sight below the bar, and where on the page it is. */
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

/** Keeps what is in sight where it is. Returns a function that ends it. */
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
  // Before the browser draws what has grown.
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
