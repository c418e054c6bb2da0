import { flushSync, tick } from 'svelte';

import { drawAll } from '../drawing/soon.js';

/** @typedef {import('./settings.svelte.js').SettingName} SettingName */

/**
 * The target of a link to a figure: false for the figure, true for the text just before it if there
 * is one, and 'chapter' for the beginning of its chapter.
 * @typedef {boolean | 'chapter'} Introduced
 */

/** The figures of a chapter. @param {Element | null | undefined} section */
const figuresOf = (section) =>
  Array.from(section?.querySelectorAll('figure[id]:not(#still)') ?? [], ({ id }) => id);

/** The reader's place on the page: the chapter in view, and the chapter that a link leads to. */
class Place {
  chapter = $state('');
  /** @type {string | null} a chapter to load although it is not visible */
  wanted = $state(null);
  /** @type {string | undefined} a figure to draw although it is not visible */
  figure = $state();
  /**
   * The figure that is shown without the rest of the page: in a presentation, or in another page.
   * @type {{ name: string, chapter: string, figure: string | undefined, how: 'presented' |
   *   'embedded', path?: readonly string[] } | null} name: the figure as in links; path: the figures
   *   that a presentation shows, by default all figures of the page
   */
  alone = $state.raw(null);
  /** True while the page measures how high a figure would be if another page embedded it. */
  isTried = $state(false);
  /** True while all chapters and figures are drawn for printing. */
  isWhole = $state(false);
  /** True while print() draws everything. The print dialog opens afterwards. */
  #printing = false;
  /**
   * Number of the current entry in the browser's history. The page cannot change an entry after the
   * reader has left it.
   */
  #entry = typeof history.state?.entry === 'number' ? history.state.entry : 0;
  /** Scroll positions of other entries, recorded when the reader left them by Back or Forward. */
  #left = new Map();
  /** The latest call of goTo(). Earlier calls stop. @type {{ chapter: string } | undefined} */
  #going;
  /**
   * The shared settings that affect each visible figure.
   * @type {{ follows?: readonly SettingName[] }[]}
   */
  #inSight = $state.raw([]);

  /** True if the reader came to this entry of the browser's history by choosing a chapter. */
  get isInHistory() {
    return typeof history.state?.chapter === 'string';
  }

  /**
   * Empty until the reader has chosen a chapter. After that, the chosen figure (`chapter.figure`)
   * while its chapter is in view, and otherwise the chapter in view.
   */
  get chosen() {
    if (!this.isInHistory) return '';
    const { chapter } = history.state;
    return chapter.startsWith(`${this.chapter}.`) ? chapter : this.chapter;
  }

  /** True while a link is being followed. */
  get isGoing() {
    return this.#going !== undefined;
  }

  /**
   * Goes to a chapter that the reader chose. The browser's Back returns to the previous place.
   * @param {string} chapter
   * @param {string} url the page's address at that chapter
   * @param {{ introduced?: Introduced }} [options]
   */
  choose(chapter, url, { introduced = false } = {}) {
    // Chapters that load or draw in the meantime move their neighbours, so the browser cannot
    // restore the scroll position.
    history.scrollRestoration = 'manual';
    const entry = this.#entry;
    history.replaceState({ ...this.#here(), entry }, '');
    this.#entry = entry + 1;
    // pushState() removes the history entries after the current entry.
    this.#left.delete(this.#entry);
    history.pushState({ chapter, past: 0, entry: this.#entry }, '', url);
    void this.goTo(chapter, 0, introduced);
  }

  /**
   * Returns to the reader's position in this entry of the browser's history, after Back or Forward.
   */
  goBack() {
    this.#left.set(this.#entry, this.#here());
    const { entry = 0, ...recorded } = history.state;
    this.#entry = entry;
    const { chapter, past } = this.#left.get(entry) ?? recorded;
    void this.goTo(chapter, past);
  }

  /**
   * Immediately draws everything that is loaded, because the browser is about to capture the page.
   */
  drawForPaper() {
    flushSync(() => (this.isWhole = true));
    drawAll();
  }

  /**
   * Goes back to drawing only visible figures. Called after the print dialog has closed, because
   * the dialog may capture the page long after `print()` has returned.
   */
  leavePaper() {
    this.isWhole = false;
  }

  /**
   * Draws the whole page and prints it. After 15 seconds, prints whatever has been drawn by then.
   */
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
   * Scrolls to a chapter or one of its figures (`chapter.figure`). Holds that position while
   * content above it still loads and grows, unless the reader scrolls away.
   * @param {string} place
   * @param {number} [past] pixels below its beginning
   * @param {Introduced} [introduced]
   */
  async goTo(place, past = 0, introduced = false) {
    const [chapter, figure] = place.split('.');
    if (!document.getElementById(chapter)?.matches('[data-chapter]')) return;
    const going = (this.#going = { chapter });
    this.wanted = chapter;
    this.figure = figure;
    document.documentElement.dataset.going = place;
    let moved = false;
    const target = () => {
      const beginning = introduced === 'chapter' || !figure;
      const element = document.getElementById(beginning ? chapter : figure);
      const before = introduced ? element?.previousElementSibling : null;
      return before?.matches('.passage') ? before : (element ?? document.getElementById(chapter));
    };
    // If the text before a figure is long, the beginning of the figure is in the lower part of the
    // window, so that it is clear what the text leads to.
    const hiddenPart = () => {
      const top = document.getElementById(figure ?? '')?.getBoundingClientRect().top ?? 0;
      return Math.max(0, top - 0.7 * innerHeight);
    };
    const stop = (/** @type {Event} */ { type, target: on }) => {
      // A click inside the target does not count as moving on. The target therefore stays in place
      // under the pointer.
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
      const folded = element?.closest('details:not([open])');
      if (folded) /** @type {HTMLDetailsElement} */ (folded).open = true;
      element?.scrollIntoView({ behavior: 'instant', block: 'start' });
      if (introduced === true) scrollBy({ top: hiddenPart(), behavior: 'instant' });
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
        // The figure may have appeared while this loop waited. Then it must still be unfolded.
        target() !== element ||
        // Some figures appear later than their chapter, once a model is loaded, and some never
        // appear.
        (figure && !document.getElementById(figure) && now - started < 8000);
      if (above + scrollY !== top || loading) settled = now;
      top = above + scrollY;
    }
    for (const gesture of gestures) removeEventListener(gesture, stop);
    if (going !== this.#going) return;
    delete document.documentElement.dataset.going;
    this.figure = this.#going = undefined;
  }

  /**
   * While the page scrolls to a chapter, draws the chapter's first figure although it may be out of
   * sight. If the link names a figure, draws that figure instead.
   * @param {string} chapter
   * @param {string} figure
   */
  comes(chapter, figure) {
    if (this.#going?.chapter === chapter) this.figure ??= figure;
  }

  /**
   * Registers a figure that has become visible. Returns a function to call when the figure is no
   * longer visible.
   * @param {readonly SettingName[]} [follows] the shared settings that affect it; all by default
   */
  sees(follows) {
    const figure = { follows };
    this.#inSight = [...this.#inSight, figure];
    return () => (this.#inSight = this.#inSight.filter((each) => each !== figure));
  }

  /**
   * True if a shared setting affects a visible figure, or if no figure is visible.
   * @param {SettingName} setting
   */
  isFor(setting) {
    return (
      !this.#inSight.length ||
      this.#inSight.some(({ follows }) => follows?.includes(setting) ?? true)
    );
  }

  /**
   * True if a shared setting affects a visible figure even if the projections are learned.
   * @param {SettingName} setting
   */
  isForLearned(setting) {
    return this.#inSight.some(
      ({ follows }) => follows?.includes(setting) && !follows.includes('weights'),
    );
  }

  /**
   * Shows a figure without the rest of the page.
   * @param {string} name the figure as in links: `chapter.figure`
   * @param {'presented' | 'embedded'} how
   * @param {readonly string[]} [path] the figures of a presentation
   */
  showAlone(name, how, path) {
    const [chapter, figure] = name.split('.');
    this.alone = { name, chapter, figure, how, path };
    this.wanted = chapter;
    this.#going = undefined;
    delete document.documentElement.dataset.going;
  }

  /** Ends a presentation and shows the page at the presented figure. */
  endPresentation() {
    if (this.alone?.how !== 'presented') return;
    const { name } = this.alone;
    this.alone = null;
    if (document.fullscreenElement) void document.exitFullscreen();
    void this.goTo(name);
  }

  /**
   * True if a presentation has a next or a previous figure. Its current chapter must be loaded.
   * @param {1 | -1} direction
   */
  hasNeighbour(direction) {
    const { name = '', chapter, figure = '', path } = this.alone ?? {};
    if (path) return path.indexOf(name) + direction in path;
    const sections = [...document.querySelectorAll('[data-chapter]')];
    const at = sections.findIndex(({ id }) => id === chapter);
    const here = figuresOf(sections[at]);
    return at + direction in sections || here.indexOf(figure) + direction in here;
  }

  /**
   * Presents the next or the previous figure of a presentation. Loads its chapter if necessary, and
   * skips figures that do not exist with the current settings.
   * @param {1 | -1} direction
   */
  async presentNeighbour(direction) {
    const from = this.alone;
    if (from?.how !== 'presented') return;
    const { path } = from;
    const wait = async (/** @type {() => unknown} */ isReady, checks = Infinity) => {
      for (; checks > 0 && this.alone === from && !isReady(); checks--) {
        await new Promise((resolve) => setTimeout(resolve, 40));
      }
      await tick();
      return this.alone === from;
    };
    const load = (/** @type {string} */ id) => {
      this.wanted = id;
      return wait(() => document.getElementById(id)?.matches('[data-loaded]'));
    };
    if (path) {
      for (let i = path.indexOf(from.name) + direction; i in path; i += direction) {
        const [chapter, figure] = path[i].split('.');
        if (!(await load(chapter))) return;
        // Some figures appear later than their chapter, once a model is loaded.
        const find = () => document.getElementById(figure);
        if (!(await wait(find, 50))) return;
        if (find()) return this.showAlone(path[i], 'presented', path);
      }
      return;
    }
    const here = figuresOf(document.getElementById(from.chapter));
    const next = here[here.indexOf(from.figure ?? '') + direction];
    if (next) return this.showAlone(`${from.chapter}.${next}`, 'presented');
    const sections = [...document.querySelectorAll('[data-chapter]')];
    const at = sections.findIndex(({ id }) => id === from.chapter) + direction;
    for (const { id } of direction > 0 ? sections.slice(at) : sections.slice(0, at + 1).reverse()) {
      if (!(await load(id))) return;
      const figure = figuresOf(document.getElementById(id)).at(direction > 0 ? 0 : -1);
      if (figure) return this.showAlone(`${id}.${figure}`, 'presented');
    }
  }

  /** Returns to the top, as on a freshly opened page. */
  reset() {
    this.chapter = '';
    this.wanted = null;
    this.figure = this.#going = undefined;
    this.alone = null;
    delete document.documentElement.dataset.going;
    scrollTo({ top: 0, behavior: 'instant' });
  }

  /**
   * Goes to the place that a link names. A chapter's name alone is enough.
   * @param {string} fragment
   */
  follow(fragment) {
    const parameters = new URLSearchParams(fragment.replace(/^#/, ''));
    const embedded = parameters.get('embed');
    if (embedded !== null) return this.showAlone(embedded, 'embedded');
    const at = parameters.get('at') ?? [...parameters.keys()].find((name) => name !== 'v');
    if (at) void this.goTo(at);
  }
}

export const place = new Place();
