import { isSame, switched } from '../core/silence.js';
import { maxCuttable, maxSilenced } from '../state/properties/transformer.js';
import { settings } from '../state/settings.svelte.js';
import { Asked } from './asked.svelte.js';

/** @typedef {import('../core/silence.js').Part} Part */

/** Number of predictions that the answer contains. */
const drawn = 10;

/** The parts of the selected model that the reader has silenced, and what this changes. */
export class Silencing {
  #pipeline;
  #kind = $derived.by(() => this.#pipeline().kind);
  #given = $derived.by(() => this.#pipeline().given);
  /** The number of heads of each layer. */
  heads = $derived.by(() =>
    Array.from(
      { length: this.#kind.config?.numLayers ?? 1 },
      (_, layer) => this.#kind.described({ ...this.#given, layer }).numHeads,
    ),
  );
  ids = $derived.by(() => this.#given.ids.slice(-maxCuttable));
  tokens = $derived.by(() => this.#pipeline().tokens.slice(-maxCuttable));
  /** The silenced parts, without parts that this model lacks. */
  parts = $derived.by(() =>
    settings.silenced.filter(
      ({ layer, part }) =>
        layer < this.heads.length && (typeof part !== 'number' || part < this.heads[layer]),
    ),
  );
  /** The number of heads and feed-forward networks, or 0 if there is no sentence. */
  partCount = $derived.by(
    () => this.ids.length && this.heads.reduce((sum, count) => sum + count + 1, 0),
  );
  /** @type {Asked<any, import('./model.js').ChangeAnswer>} */
  asked = new Asked(
    () => this.#kind,
    'change',
    () => {
      const { ids, tokens, parts: silenced } = this;
      if (!ids.length) return null;
      const { cutToken: token, silenceBy: replacement } = settings;
      const { layer, encoding } = this.#given;
      return { ids, tokens, layer, encoding, cuts: [], silenced, replacement, token, drawn };
    },
  );

  /** @param {() => import('../work/pipeline.svelte.js').Pipeline} pipeline */
  constructor(pipeline) {
    this.#pipeline = pipeline;
  }

  /** The question how much each part matters. */
  ranked() {
    const { ids } = this;
    if (!ids.length) return null;
    const { cutToken: token, silenceBy: replacement } = settings;
    return { ids, encoding: this.#given.encoding, token, of: 'parts', replacement };
  }

  /** @param {Part} part */
  has = (part) => this.parts.some((each) => isSame(each, part));

  /** Silences a part, or switches it on again. @param {Part} part */
  toggle = (part) => void (settings.silenced = switched(settings.silenced, part, maxSilenced));

  /** Switches one part on again or, without an argument, all parts. @param {Part} [part] */
  undo = (part) =>
    void (settings.silenced = part ? settings.silenced.filter((each) => !isSame(each, part)) : []);
}
