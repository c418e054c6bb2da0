import { flushSync } from 'svelte';

/** The shortest time between two pictures, in ms. */
export const betweenPictures = 70;

/** Draws in animation frames, and measures how long drawing takes. */
export class Frames {
  #draw;
  #requested = 0;
  #drawn = 0;
  /** Time spent on drawing in animation frames, in ms. */
  spent = 0;

  /** @param {() => void} draw draws the latest state */
  constructor(draw) {
    this.#draw = draw;
  }

  /** Draws in the next frame, unless the last drawing was very recent. */
  offer() {
    if (this.#requested || performance.now() - this.#drawn < betweenPictures) return;
    this.#requested = requestAnimationFrame(() => {
      const start = performance.now();
      flushSync(() => this.draw());
      this.#drawn = performance.now();
      this.spent += this.#drawn - start;
    });
  }

  /** Draws immediately. */
  draw() {
    cancelAnimationFrame(this.#requested);
    this.#requested = 0;
    this.#draw();
  }
}
