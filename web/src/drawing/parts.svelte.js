/**
 * The part of a figure that is under the pointer, in the equation or the picture. It is highlighted
 * in both. Parts are named by `part(…)` or `\htmlData{part=…}` in the equation.
 */
export class Parts {
  /** @type {string | null} */
  lit = $state(null);

  /**
   * Attributes that mark a picture element as a part: pointing at the element highlights the part.
   * @param {string} name
   */
  of(name) {
    return {
      onpointerenter: () => (this.lit = name),
      onpointerleave: () => (this.lit = null),
      onfocusin: () => (this.lit = name),
      onfocusout: () => (this.lit = null),
      'data-lit': this.lit === name || undefined,
    };
  }
}
