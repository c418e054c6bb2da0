import { flushSync, tick } from 'svelte';

import { drawAll } from '../drawing/soon.js';

/** @typedef {import('./settings.svelte.js').SettingName} SettingName */

/** Where the reader is on the page: the chapter in view, and the chapter that a link leads to. */
class Place {
  chapter = $state('');
  /** @type {string | null} a chapter to load even out of sight */
  wanted = $state(null);
  /** @type {string | undefined} a figure to draw even out of sight */
  figure = $state();
  /** Whether all chapters and figures are drawn, for paper. */
  isWhole = $state(false);
  /** True while everything is drawn before the print dialog opens. */
  #printing = false;
  /** This entry of the browser's history, which cannot be written once it is left. */
  #entry = typeof history.state?.entry === 'number' ? history.state.entry : 0;
  /** Where the reader was in others when she left them by Back or Forward. */
  #left = new Map();
  /** The last call of goTo(); earlier ones stop. @type {{ chapter: string } | undefined} */
  #going;
  /** The shared settings that each figure in sight follows. @type {{ follows?: readonly SettingName[] }[]} */
  #inSight = $state.raw([]);

  /** Whether this entry of the browser's history is a place that the reader has come to by choice. */
  get isInHistory() {
    return typeof history.state?.chapter === 'string';
  }

  /** Whether a link leads somewhere just now. */
  get isGoing() {
    return this.#going !== undefined;
  }

  /**
   * The reader chooses a chapter: the browser's Back leads to where she was.
   * @param {string} chapter
   * @param {string} url of the page there
   */
  choose(chapter, url) {
    // Chapters that are loaded or drawn meanwhile change where a place is: the browser cannot know.
    history.scrollRestoration = 'manual';
    const entry = this.#entry;
    history.replaceState({ ...this.#here(), entry }, '');
    this.#entry = entry + 1;
    // What lay before it in that direction is gone.
    this.#left.delete(this.#entry);
    history.pushState({ chapter, past: 0, entry: this.#entry }, '', url);
    void this.goTo(chapter);
  }

  /** Goes where the reader was in this entry of the browser's history, back or forward. */
  goBack() {
    this.#left.set(this.#entry, this.#here());
    const { entry = 0, ...recorded } = history.state;
    this.#entry = entry;
    const { chapter, past } = this.#left.get(entry) ?? recorded;
    void this.goTo(chapter, past);
  }

  /** Draws everything that is loaded at once, because the browser is about to capture the page. */
  drawForPaper() {
    flushSync(() => (this.isWhole = true));
    drawAll();
  }

  /** Draws only visible figures again. Dialogs may capture the page long after `print()` has returned. */
  leavePaper() {
    this.isWhole = false;
  }

  /** Draws all of the page, as far as that does not take too long, and prints it. */
  async print() {
    if (this.#printing) return;
    this.#printing = this.isWhole = true;
    const end = performance.now() + 15_000;
    const undrawn = '[data-chapter]:not([data-loaded]), figure[aria-busy], figure > .away';
    for (let [height, still] = [0, 0]; still < 4 && performance.now() < end;) {
      await new Promise((resolve) => setTimeout(resolve, 250));
      const now = document.body.offsetHeight;
      still = now !== height || document.querySelector(undrawn) ? 0 : still + 1;
      height = now;
    }
    this.#printing = false;
    print();
  }

  #here() {
    const chapter = this.chapter || 'opening';
    const past = -(document.getElementById(chapter)?.getBoundingClientRect().top ?? 0);
    return { chapter, past };
  }

  /**
   * Scrolls to a chapter, or to a figure of it (`chapter.figure`), and stays there while what lies
   * above it is still being loaded and grows, unless the reader goes elsewhere.
   * @param {string} place
   * @param {number} [past] pixels below its beginning
   */
  async goTo(place, past = 0) {
    const [chapter, figure] = place.split('.');
    if (!document.getElementById(chapter)?.matches('[data-chapter]')) return;
    const going = (this.#going = { chapter });
    this.wanted = chapter;
    this.figure = figure;
    document.documentElement.dataset.going = place;
    let moved = false;
    const target = () =>
      document.getElementById(figure ?? chapter) ?? document.getElementById(chapter);
    const stop = (/** @type {Event} */ { type, target: on }) => {
      // What she clicks in the place itself must not run away from her.
      moved ||= type !== 'pointerdown' || !target()?.contains(/** @type {Node} */ (on));
    };
    const gestures = ['wheel', 'touchstart', 'keydown', 'pointerdown'];
    for (const gesture of gestures) addEventListener(gesture, stop, { passive: true });
    const started = performance.now();
    let [settled, top] = [started, NaN];
    await tick();
    document.getElementById(chapter)?.querySelector('h2')?.focus({ preventScroll: true });
    const isOver = (/** @type {number} */ now) =>
      moved || going !== this.#going || now - settled >= 700 || now - started >= 15_000;
    for (let now = started; !isOver(now);) {
      const element = target();
      element?.scrollIntoView({ behavior: 'instant', block: 'start' });
      if (past && element) {
        scrollBy({ top: element.getBoundingClientRect().top + past, behavior: 'instant' });
      }
      await new Promise((resolve) => setTimeout(resolve, 40));
      now = performance.now();
      const above = element?.getBoundingClientRect().top ?? NaN;
      const loading =
        [...document.querySelectorAll('[data-chapter][data-wanted]')].some(
          (each) => !each.matches('[data-loaded]'),
        ) ||
        // Some figures come with a model, after their chapter, and some not at all.
        (element?.id === chapter && figure && now - started < 8000);
      if (above + scrollY !== top || loading) settled = now;
      top = above + scrollY;
    }
    for (const gesture of gestures) removeEventListener(gesture, stop);
    if (going !== this.#going) return;
    delete document.documentElement.dataset.going;
    this.figure = this.#going = undefined;
  }

  /**
   * The first figure of the chapter that is being gone to will be in sight, if no other was meant.
   * @param {string} chapter
   * @param {string} figure
   */
  comes(chapter, figure) {
    if (this.#going?.chapter === chapter) this.figure ??= figure;
  }

  /**
   * A figure has come into sight. Returns a function to call when it leaves.
   * @param {readonly SettingName[]} [follows] the shared settings that act on it; all if not given
   */
  sees(follows) {
    const figure = { follows };
    this.#inSight = [...this.#inSight, figure];
    return () => (this.#inSight = this.#inSight.filter((each) => each !== figure));
  }

  /** Whether a shared setting affects a figure in sight. @param {SettingName} setting */
  isFor(setting) {
    return (
      !this.#inSight.length ||
      this.#inSight.some(({ follows }) => follows?.includes(setting) ?? true)
    );
  }

  /** Goes back to the top, as on a page that has just been opened. */
  reset() {
    this.chapter = '';
    this.wanted = null;
    this.figure = this.#going = undefined;
    delete document.documentElement.dataset.going;
    scrollTo({ top: 0, behavior: 'instant' });
  }

  /** Goes to where a link points; a chapter's name alone will do. @param {string} fragment */
  follow(fragment) {
    const parameters = new URLSearchParams(fragment.replace(/^#/, ''));
    const at = parameters.get('at') ?? [...parameters.keys()][0];
    if (at) void this.goTo(at);
  }
}

export const place = new Place();
