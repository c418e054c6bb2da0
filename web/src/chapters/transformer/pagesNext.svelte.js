import { randomLcg } from 'd3-random';
import { settings } from '../../state/settings.svelte.js';
import { Stepwise } from '../../work/stepwise.svelte.js';

const loadPrograms = () => import('../../figures/nextWord/code.js');

/** Largest number of candidates to draw. */
export const drawn = 10;

/**
 * The point in the cumulative probability at which the token at a position is sampled.
 * @param {number} place
 */
const drawAt = (place) =>
  randomLcg(((settings.draw + 1) * 0.6180339887498949 + place * 0.7548776662466927) % 1)();

/** @param {Float32Array} row @param {number} id */
function probabilityOf(row, id) {
  const largest = row.reduce((a, b) => Math.max(a, b), -Infinity);
  return (
    Math.exp(row[id] - largest) / row.reduce((sum, value) => sum + Math.exp(value - largest), 0)
  );
}

const nothing = {
  ...{
    tokens: /** @type {string[]} */ ([]),
    probabilities: /** @type {number[]} */ ([]),
    width: 0,
  },
  ...{ logits: new Float32Array(), weights: new Float32Array(), ids: /** @type {number[]} */ ([]) },
};

/** Predictions of the page's language model. */
export class PagesNext {
  /** The selected token, if it is not the last. @type {number | null} */
  place = $state(null);
  #model;
  /** @type {Stepwise<typeof nothing>} */
  #steps = new Stepwise();
  #shown = $derived(this.#steps.value ?? nothing);
  /** Number of tokens that the model looks back. */
  #most = $derived.by(() => this.#model.model?.config.maxLength ?? 0);
  #first = $derived.by(() => Math.max(0, this.#model.given.ids.length - this.#most));
  #ids = $derived.by(() => this.#model.given.ids.slice(this.#first));
  #tokens = $derived.by(() => this.#model.tokens.slice(this.#first));

  tokens = $derived(this.#shown.tokens);
  probabilities = $derived(this.#shown.probabilities);
  at = $derived(Math.min(this.place ?? Infinity, this.tokens.length - 1));
  weights = $derived.by(() => {
    const n = this.tokens.length;
    return this.#shown.weights.subarray(this.at * n, (this.at + 1) * n);
  });
  candidates = $derived.by(() => {
    const { width, logits, ids } = this.#shown;
    const { tokens: vocabulary, candidatesOf } = this.#model.work.language;
    if (this.at < 0 || !vocabulary || !candidatesOf) return [];
    return candidatesOf(logits.subarray(this.at * width, (this.at + 1) * width), this.#options)
      .slice(0, drawn)
      .map(({ id, probability }) => ({
        ...{ id, probability },
        label: vocabulary.label(id, ids.slice(0, this.at + 1)),
      }));
  });
  canWrite = $derived.by(() => this.#tokens.length > 0);
  note = $derived.by(() => (this.#first ? `The model looks back ${this.#most} tokens.` : ''));
  problem = '';

  /** @param {import('../../work/pipeline.svelte.js').Pipeline} model */
  constructor(model) {
    this.#model = model;
  }

  get #options() {
    return { temperature: settings.temperature, topK: settings.topK };
  }

  /** An attachment for the element that shows it. */
  follow = () =>
    this.#steps.follow(() => {
      const [language, read, words] = [this.#model.model, this.#ids, this.#tokens];
      const { layer, head, encoding } = this.#model.given;
      const positions = encoding !== 'none';
      return (function* () {
        const width = language?.config.vocabularySize ?? 0;
        const n = read.length;
        const logits = new Float32Array(n * width);
        let weights = new Float32Array();
        if (language && n) {
          const reading = language.read(language.embed(read), { positions });
          for (let l = 1; l <= language.config.numLayers; l++) {
            reading.stream(l);
            yield;
          }
          const x = reading.layerInput(layer);
          const all = language
            .attention(layer, positions)
            .forward(x, x, x, { causal: true, needWeights: true }).weights.data;
          weights = all.slice(head * n * n, (head + 1) * n * n);
          // Computes a few rows at a time, because the vocabulary has thousands of tokens.
          for (let row = 0; row < n; row += 8) {
            logits.set(reading.logits(row, Math.min(n, row + 8)).data, row * width);
            yield;
          }
        }
        const probabilities = read.map((id, i) =>
          i ? probabilityOf(logits.subarray((i - 1) * width, i * width), id) : NaN,
        );
        return { tokens: words, ids: read, probabilities, width, logits, weights };
      })();
    });

  get milliseconds() {
    return this.#steps.milliseconds;
  }

  /** The text that a token appends. @param {number} id */
  textOf(id) {
    return this.#model.work.language.tokens?.added(this.#ids, [id]) ?? '';
  }

  /**
   * Samples tokens one after another.
   * @param {number} count
   * @param {(text: string) => boolean} onText receives the text that each token appends; returns
   *   whether to continue
   */
  async write(count, onText) {
    const { model: language, tokens, candidatesOf, chosen } = this.#model.work.language;
    if (!language || !tokens || !candidatesOf || !chosen) return;
    const writer = language.writer();
    try {
      const ids = [...this.#ids];
      let [next, place] = [ids.slice(), this.#model.given.ids.length];
      for (let i = 0; i < count; i++) {
        const { id } = chosen(candidatesOf(writer.next(next), this.#options), drawAt(place));
        if (!onText(tokens.added(ids, [id]))) break;
        ids.push(id);
        place += 1;
        next = [id];
        await new Promise((resolve) => setTimeout(resolve, 60));
      }
    } finally {
      writer.dispose();
    }
  }

  get code() {
    const { given } = this.#model;
    return {
      load: loadPrograms,
      of: (/** @type {typeof import('../../figures/nextWord/code.js')} */ { nextWordCode }) =>
        nextWordCode(
          given,
          {
            .../** @type {import('../../models/language/languagePrograms.js').Learned} */ (
              this.#model.learned()
            ),
            ...{ ids: this.#ids, tokens: this.#tokens },
          },
          this.#options,
        ),
    };
  }
}
