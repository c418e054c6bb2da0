import model from '../../../languageModel/model.safetensors?url';
import tokenizer from '../../../languageModel/tokenizer.json?url';

import { history } from '../../state/history.svelte.js';
import { areInitial, beginWith, settings, startFrom } from '../../state/settings.svelte.js';
import { tellingHeads } from './habits.js';
import { reasonOf } from '../errors.js';

/** @typedef {import('./languageModel.js').LanguageModel} LanguageModel */
/** @typedef {import('./languageTokens.js').LanguageTokens} LanguageTokens */

/** Bytes of what is fetched, for those who are asked. */
export const megabytes = '2 MB';

/** The language model that the page brings: where it is, and what came of fetching it. */
export class Language {
  /** @type {LanguageModel | null} */
  model = $state.raw(null);
  /** @type {LanguageTokens | null} */
  tokens = $state.raw(null);
  /** How the next token is drawn. @type {typeof import('./languageModel.js').candidates | undefined} */
  candidatesOf;
  /** @type {typeof import('./languageModel.js').chosen | undefined} */
  chosen;
  /** What programs begin with. @type {typeof import('./languagePrograms.js') | undefined} */
  programs;
  /** The model that the reader has opened. @type {import('../own/own.svelte.js').Own | null} */
  own = $state.raw(null);
  /** Whether it is looked at, where projections are learned ones. */
  looksAtOwn = $state(false);
  /**
   * What the reader wants to open one by; then it is `'here'`.
   * @type {'' | 'drop' | 'dialog' | 'here'}
   */
  asked = $state('');
  coming = $state(false);
  problem = $state('');
  #attn;
  /** Told of its bytes, for computations elsewhere. */
  #tell;
  /** @type {Promise<boolean> | undefined} */
  #fetching;

  /** @param {import('attn').Attn} attn @param {(bytes: Uint8Array) => void} tell */
  constructor(attn, tell) {
    this.#attn = attn;
    this.#tell = tell;
  }

  /** Fetches it, unless it is here or coming. @returns {Promise<boolean>} whether it has come */
  want() {
    return (this.#fetching ??= this.#fetch());
  }

  async #fetch() {
    this.coming = true;
    this.problem = '';
    try {
      const [{ LanguageModel, candidates, chosen }, programs, { LanguageTokens }, bytes, json] =
        await Promise.all([
          import('./languageModel.js'),
          import('./languagePrograms.js'),
          import('./languageTokens.js'),
          read(model).then((response) => response.arrayBuffer()),
          read(tokenizer).then((response) => response.json()),
        ]);
      const file = new Uint8Array(bytes);
      const whole = new LanguageModel(this.#attn, file);
      this.programs = programs;
      [this.candidatesOf, this.chosen] = [candidates, chosen];
      this.tokens = new LanguageTokens(json);
      this.model = whole;
      this.#tell(file);
      return true;
    } catch (error) {
      this.#fetching = undefined;
      this.problem = `The language model could not be loaded: ${reasonOf(error)}.`;
      return false;
    } finally {
      this.coming = false;
    }
  }
}

/**
 * Takes other projections. Learned ones belong to a model that was trained with a causal mask.
 * @param {Language} language
 * @param {import('../../state/properties.js').Weights} weights
 */
export async function chooseWeights(language, weights) {
  if (weights === 'learned' && !(await language.want())) return;
  language.looksAtOwn = false;
  const learned = weights === 'learned';
  if (learned !== (settings.weights === 'learned')) settings.causal = learned;
  settings.weights = weights;
}

/** Shows a model that the reader has opened, in place of one before. @param {Language} language @param {import('../own/own.svelte.js').Own} own */
export function showOwn(language, own) {
  // What the page showed before the first of them.
  if (language.own && language.looksAtOwn) own.before = language.own.before;
  language.own?.end();
  language.own = own;
  lookAtOwn(language);
}

/** @param {Language} language */
export function lookAtOwn(language) {
  const { own } = language;
  if (!own) return;
  language.looksAtOwn = true;
  Object.assign(settings, { weights: 'learned', causal: own.facts.description.causal });
}

/** Shows what the page showed before, and keeps the reader's model. @param {Language} language */
export function lookAtPages(language) {
  if (language.own) Object.assign(settings, language.own.before);
  language.looksAtOwn = false;
}

/** Goes back to what the page showed before. @param {Language} language */
export function closeOwn(language) {
  const { own } = language;
  if (language.looksAtOwn) lookAtPages(language);
  language.own = null;
  own?.end();
}

/** Settings that say which model is looked at, and how. */
const own = /** @type {const} */ ([
  ...['weights', 'dModel', 'heads', 'layer', 'head', 'seed', 'encoding', 'base'],
  ...['causal', 'window', 'validLen', 'blocked'],
]);

/** What the page begins with: a head that does something one can see. @param {Language} language */
function beginningOf(language) {
  const { layer, head } = tellingHeads(language.model?.heads ?? null)[0] ?? { layer: 0, head: 0 };
  return { weights: /** @type {const} */ ('learned'), causal: true, layer, head };
}

/**
 * Fetches the language model that a link asks for. What is put back goes back to what the page begins with
 * without a link.
 * @param {Language} language
 * @param {{ text: string }} others that the page begins with
 */
export async function startLearned(language, others) {
  if (!(await language.want()) || settings.weights !== 'learned') return;
  startFrom({ ...others, ...beginningOf(language) });
}

/**
 * Lets the page begin with the language model, at a head that does something one can see, unless the
 * reader has chosen something else in the meantime.
 * @param {Language} language
 */
export async function beginLearned(language) {
  if (!(await language.want()) || !areInitial(own)) return;
  const changes = beginningOf(language);
  history.amend(changes);
  beginWith(changes);
}

/** @param {string} address */
async function read(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  return response;
}
