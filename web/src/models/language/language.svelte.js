import { host } from '../../host/host.js';
import { reset, settings } from '../../state/settings.svelte.js';
import { reasonOf } from '../../work/errors.js';
import { Spelled } from '../spelled.js';
import { problems } from '../../texts/page.js';

/** @typedef {import('./languageTokens.js').LanguageTokens} LanguageTokens */

/** The download size, which the page shows before it downloads the model. */
export const megabytes = '2 MB';

let isOwnShown = $state(false);

/** True while figures show the model that the reader has opened. */
export const showsOwn = () => isOwnShown && settings.weights === 'learned';

/** The page's language model and the status of its download. */
export class Language {
  #spelled;
  /** @type {import('./pages.js').Pages | null} */
  #pages = $state.raw(null);
  /** @type {LanguageTokens | null} */
  tokens = $state.raw(null);
  /**
   * Lists the candidates for the next token.
   * @type {typeof import('./languageModel.js').candidates | undefined}
   */
  candidatesOf;
  /** The model that the reader has opened. @type {import('../own/own.svelte.js').Own | null} */
  own = $state.raw(null);
  /**
   * All models that the reader has opened, by id. Figures may still show results of models that
   * have been closed.
   * @type {Map<number, import('../own/own.svelte.js').Own>}
   */
  // eslint-disable-next-line svelte/prefer-svelte-reactivity -- nothing reacts to it
  #opened = new Map();
  /**
   * How the reader wants to open a model; `'here'` once the dialog is loaded.
   * @type {'' | 'drop' | 'dialog' | 'here'}
   */
  asked = $state('');
  coming = $state(false);
  problem = $state('');
  #attn;
  /** Receives the bytes of the model's file, so that the worker can load the model, too. */
  #tell;
  /** @type {Promise<boolean> | undefined} */
  #fetching;

  /** @param {import('attn').Attn} attn @param {(bytes: Uint8Array) => void} tell */
  constructor(attn, tell) {
    this.#attn = attn;
    this.#tell = tell;
    this.#spelled = new Spelled(attn);
  }

  get model() {
    return this.#pages?.model ?? null;
  }

  /**
   * True if selecting learned projections shows the reader's model rather than the page's model.
   */
  get looksAtOwn() {
    return isOwnShown;
  }

  set looksAtOwn(looks) {
    isOwnShown = looks;
  }

  /**
   * The model that the settings select, or a substitute until the language model is loaded.
   * @returns {import('../model.js').Model}
   */
  get selected() {
    return this.of({ own: showsOwn() ? this.own?.id : 0, weights: settings.weights });
  }

  /**
   * The model that computed the given results.
   * @param {Pick<import('../model.js').Given, 'own' | 'weights'>} given
   * @returns {import('../model.js').Model}
   */
  of({ own, weights }) {
    if (own) return /** @type {import('../model.js').Model} */ (this.#opened.get(own));
    return weights === 'learned' && this.#pages ? this.#pages : this.#spelled;
  }

  /** Closes the reader's model. @param {import('../own/own.svelte.js').Own | null} [next] */
  replaceOwn(next = null) {
    this.own?.close();
    this.own = next;
    if (next) this.#opened.set(next.id, next);
  }

  /**
   * Fetches the model, unless it is loaded or loading.
   * @returns {Promise<boolean>} true if it is loaded
   */
  want() {
    return (this.#fetching ??= this.#fetch());
  }

  async #fetch() {
    this.coming = true;
    this.problem = '';
    try {
      const [{ LanguageModel, candidates }, { Pages }, { LanguageTokens }, bytes, json] =
        await Promise.all([
          import('./languageModel.js'),
          import('./pages.js'),
          import('./languageTokens.js'),
          host.read('model.safetensors').then((response) => response.arrayBuffer()),
          host.read('tokenizer.json').then((response) => response.json()),
        ]);
      const file = new Uint8Array(bytes);
      const whole = new LanguageModel(this.#attn, file);
      this.candidatesOf = candidates;
      this.tokens = new LanguageTokens(json);
      this.#pages = new Pages(this.#attn, whole, this.tokens);
      this.#tell(file);
      return true;
    } catch (error) {
      this.#fetching = undefined;
      this.problem = problems.languageModel(reasonOf(error));
      return false;
    } finally {
      this.coming = false;
    }
  }
}

/** Resets the settings that refer to tokens or parts of a model and would not fit another one. */
const forgetTokens = () => reset(['cuts', 'cutToken', 'silenced']);

/**
 * Selects the projections. Switching to learned projections turns the causal mask on, because they
 * belong to a model that was trained with a causal mask. Switching back turns the mask off.
 * @param {Language} language
 * @param {import('../../state/properties/index.js').Weights} weights
 */
export async function chooseWeights(language, weights) {
  if (weights === 'learned' && !(await language.want())) return;
  if (language.looksAtOwn) forgetTokens();
  language.looksAtOwn = false;
  const learned = weights === 'learned';
  if (learned !== (settings.weights === 'learned')) settings.causal = learned;
  settings.weights = weights;
}

/**
 * Shows a model that the reader has just opened. Closes the reader's earlier model, if any.
 * @param {Language} language
 * @param {import('../own/own.svelte.js').Own} own
 */
export function showOwn(language, own) {
  // If the page shows the reader's earlier model, the new model inherits `before`: the settings
  // from before the earlier model was opened.
  if (language.own && language.looksAtOwn) own.before = language.own.before;
  language.replaceOwn(own);
  lookAtOwn(language);
}

/** @param {Language} language */
export function lookAtOwn(language) {
  const { own } = language;
  if (!own) return;
  language.looksAtOwn = true;
  forgetTokens();
  Object.assign(settings, { weights: 'learned', causal: own.part.description.causal });
}

/**
 * Restores what the page showed before, but keeps the reader's model open.
 * @param {Language} language
 */
export function lookAtPages(language) {
  if (language.own) Object.assign(settings, language.own.before);
  forgetTokens();
  language.looksAtOwn = false;
}

/**
 * Closes the reader's model and restores what the page showed before.
 * @param {Language} language
 */
export function closeOwn(language) {
  if (language.looksAtOwn) lookAtPages(language);
  language.replaceOwn();
}
