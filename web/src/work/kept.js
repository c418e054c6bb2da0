/**
 * A layer, or an object that owns several layers. It is recreated when its options change and
 * disposed of with its owner. Call `of` in an effect, not in `$derived`, because it may dispose of
 * the previous layer.
 * @template {object} Options
 * @template {{ dispose: () => void }} T
 */
export class Kept {
  #make;
  #key = '';
  /** @type {T | null} */
  #value = null;

  /** @param {(options: Options) => T} make */
  constructor(make) {
    this.#make = make;
  }

  /** @param {Options} options */
  of(options) {
    const key = JSON.stringify(options);
    if (this.#value && key === this.#key) return this.#value;
    this.dispose();
    this.#key = key;
    return (this.#value = this.#make(options));
  }

  dispose() {
    this.#value?.dispose();
    this.#value = null;
  }
}
