/**
 * A layer, or an owner of several, that is made again when its options change and is disposed of with
 * its owner. `of` belongs in an effect, not in `$derived`, because it may dispose of the last one.
 *
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
