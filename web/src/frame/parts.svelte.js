/**
 * Which named part of a figure is looked at, in its equation or in its picture: both light up. The
 * names are those of `part(…)` or `\htmlData{part=…}` in the equation.
 */
export class Parts {
  /** @type {string | null} */
  lit = $state(null);

  /**
   * Attributes that make an element of the picture a part: pointing at it lights it.
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
