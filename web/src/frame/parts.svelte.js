/**
 * The named part of a figure under the pointer, in its equation or its picture. Both are
 * highlighted. Names are those in `part(…)` or `\htmlData{part=…}` in the equation.
 */
export class Parts {
  /** @type {string | null} */
  lit = $state(null);

  /**
   * Attributes that make an element of the picture a part. Pointing at it highlights the part.
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
