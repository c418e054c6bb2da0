import { untrack } from 'svelte';

import { place } from '../state/place.svelte.js';

/** @import { SettingName } from '../state/settings.svelte.js' */

/**
 * Reports whether an element is in the window, extended by this margin.
 * @param {Element} element
 * @param {string} rootMargin
 * @param {(is: boolean) => void} tell
 */
function within(element, rootMargin, tell) {
  const observer = new IntersectionObserver(
    (entries) => tell(entries[entries.length - 1].isIntersecting),
    { rootMargin },
  );
  observer.observe(element);
  return observer;
}

/** Decides when the picture of a figure exists: only while the figure is near the window. */
export class LazyPicture {
  #inSight = $state(false);
  /** True if an export needs the picture of a figure that is out of sight. */
  #isExported = $state(false);
  /** True if part of the figure is in the middle of the window. */
  #looked = $state(false);
  /** True once the picture has been visible long enough to have its final height. */
  grown = $state(false);
  /**
   * The element that contains the picture, or undefined while there is no picture.
   * @type {HTMLElement | undefined}
   */
  element = $state();
  /**
   * The exact size of the picture, for its placeholder. With a placeholder of another height, a
   * figure near the loading boundary would appear and disappear repeatedly.
   */
  size = $state.raw(/** @type {DOMRectReadOnly | undefined} */ (undefined));
  #id;
  /** True if a link leads to this figure or to a part of it. */
  #isTarget = $derived.by(() => `${place.figure}-`.startsWith(`${this.#id}-`));
  near = $derived(this.#inSight || this.#isExported || this.#isTarget || place.isWhole);

  /** @param {string} id the figure's id @param {() => readonly SettingName[] | undefined} follows */
  constructor(id, follows) {
    this.#id = id;
    $effect(() => {
      if (this.#looked) return untrack(() => place.sees(follows()));
    });
    $effect(() => {
      if (this.grown || !this.near) return;
      const timer = setTimeout(() => (this.grown = true), 500);
      return () => clearTimeout(timer);
    });
  }

  /** An attachment of the figure. @param {Element} figure */
  watch = (figure) => {
    const observers = [
      within(figure, '10% 0px', (is) => {
        this.#inSight = is;
        if (is) this.#isExported = false;
      }),
      within(figure, '-25% 0px', (is) => (this.#looked = is)),
    ];
    untrack(() => place.comes(figure.closest('[data-chapter]')?.id ?? '', this.#id));
    return () => observers.forEach((observer) => observer.disconnect());
  };

  /** Draws the picture, which may be out of sight, and waits for it. */
  drawn = async () => {
    this.#isExported = !this.#inSight;
    while (!this.element) await new Promise(requestAnimationFrame);
    return this.element;
  };
}
