/**
 * One layer, or what owns several, that is made anew when its options change and is disposed of with
 * its owner. To be asked in an effect, not in `$derived`: asking may dispose of the one before.
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
