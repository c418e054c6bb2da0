/** The texts around the chapters: the top of the page, its messages and its end. */
export const page = {
  openOwn: 'open your own model …',
  opened: 'your model …',
  openTitle: 'Open the .safetensors file of your own model, and look at its attention',
  computing: 'computing …',
  loadingModel: 'loading the trained model …',
  later:
    'This link was made by a later version of this page. The version you see ignores the settings that it does not know. Reload the page to get the later version.',
  /** @param {string} problem */
  withoutModel: (problem) => `${problem} The page continues without this model.`,
  tryAgain: 'Try again',
  reload: 'reload the page',
  /** @param {{ what: string, why: string }} part */
  notLoaded: ({ what, why }) => `${what} could not be loaded: ${why}. {again} or {reload}`,
  /** The parts of the page that may fail to load. */
  parts: {
    dialog: 'The dialog for your own model',
    picture: 'The picture of the sentence',
    walk: 'The walk',
    chapter: 'This chapter',
    other: 'This part',
  },
  /** @param {string} why */
  noCore: (why) => `The core could not be loaded: ${why}.`,
  sentence: 'The sentence',
  empty: 'No words yet. Type one or two above.',
  contents: 'Contents',
  loading: 'Loading …',
  /** @param {{ version: string, license: string }} about */
  about: ({ version, license }) =>
    `Every coloured cell is a number. The attn core, written in C++ and compiled to WebAssembly, computed it in your browser. Nothing you type leaves your browser. The page’s own language model learned from Jane Austen’s novels and the World English Bible, which are in the public domain, and from the example sentences of WordNet 3.0 (Copyright 2006 by Princeton University). attn ${version}, ${license} licence.`,
  reference: 'Reference for programmers: {javascript}, {cpp}.',
  teach: 'Teach with this page',
  print: 'Print with all figures',
  /** @param {number} threads */
  facts: (threads) =>
    `variant {variant} · ${threads} ${threads === 1 ? 'thread' : 'threads'} · the core computed the weights in {time}`,
};

/** The field for the sentence, and the notes below it. */
export const field = {
  type: 'Type a sentence',
  /** @param {string} most */
  cut: (most) => `The sentence was cut after ${most} characters.`,
  /** @param {{ total: string, used: string }} tokens */
  someUsed: ({ total, used }) => `${total} tokens; the first ${used} are used`,
  /** @param {{ total: number, distinct: number, count: (number: number) => string }} tokens */
  tokens: ({ total, distinct, count }) =>
    total === 1
      ? '1 [token]'
      : distinct < total
        ? `${count(total)} [tokens|token] (words or pieces), ${count(distinct)} of them different`
        : `${count(total)} [tokens|token] (words or pieces)`,
};

/** The bar with the settings that all figures share. */
export const bar = {
  region: 'Sentence and settings',
  chapters: 'Chapters',
  /** @param {string} mark */
  inView: (mark) => `Chapters: chapter ${mark} is in view`,
  idle: 'Has no effect on the figures in view',
  someIdle: 'Grey: no effect on the figures in view',
  undo: 'Undo',
  redo: 'Redo',
  /** @param {string} action @param {string} keys */
  withKeys: (action, keys) => `${action} (${keys})`,
  settings: 'Settings',
  /** Settings that the reader has changed, as shown in the bar. */
  changed: {
    layer: (/** @type {number} */ value) => `layer ${value + 1}`,
    head: (/** @type {number} */ value) => `head ${value + 1}`,
    heads: (/** @type {number} */ value) => `heads ${value}`,
    dModel: (/** @type {number} */ value) => `width ${value}`,
    base: (/** @type {number} */ value) => `base ${value.toLocaleString('en')}`,
  },
  changedTitle:
    'You changed these settings, and the visible figures use them. Press to reset them.',
  layer: 'layer',
  head: 'head',
  /** @param {number} count */
  of: (count) => `of ${count}`,
  width: 'width',
  heads: 'heads',
  projections: 'projections',
  weights: { identity: 'identity', xavier: 'random', learned: 'learned', own: 'yours' },
  otherSeed: 'Other random projections',
  /** @param {number} seed */
  seed: (seed) => `seed ${seed}`,
  positions: 'positions',
  encodings: { none: 'none', sinusoidal: 'sinusoidal' },
  base: 'base',
  masks: 'Masks',
  noMasks: 'none',
  /** @param {string} masks */
  active: (masks) => `Masks: ${masks}`,
  button: 'masks {names}',
};

/** Controls that several parts of the page use. */
export const controls = {
  reset: 'Back to the initial value',
  /** @param {string} label */
  resetOf: (label) => `Reset ${label}`,
  causal: 'causal mask',
  window: 'window',
  noWindow: 'none',
  validLength: 'valid length',
  allValid: 'all',
  /** @param {number} cells */
  clear: (cells) => `clear ${cells} painted ${cells === 1 ? 'cell' : 'cells'}`,
  colours: 'Colours:',
  themes: { auto: 'system', light: 'light', dark: 'dark' },
};

/** Names of the active masks. */
export const masks = {
  causal: 'causal',
  /** @param {number} length */
  first: (length) => `first ${length}`,
  /** @param {number} cells */
  byHand: (cells) => `${cells} by hand`,
};

/** Why a part of the page failed, as phrases that can follow a colon. */
export const reasons = {
  unexpected: 'an unexpected error occurred; reload the page and try again',
  offline:
    'you are offline, and this part of the page has not been used before; go online and try again',
  unreachable: 'the server could not be reached',
};

/** Why a sentence could not be processed. */
export const problems = {
  memory:
    'The matrices for so many tokens need more memory than this browser provides. Use fewer tokens or heads.',
  ownEnded:
    'The browser stopped the worker that runs your model. Change the sentence to open your model again.',
  /** @param {string} why */
  own: (why) => `Your model could not process this sentence: ${why}`,
  ended:
    'The browser stopped the worker that computes long sentences. Your next change starts a new one.',
  noWorker:
    'Long sentences are computed on the page’s own thread, because the worker for them could not be started. Typing may stutter.',
  /** @param {string} why */
  sentence: (why) => `This sentence could not be processed: ${why}`,
  /** @param {string} why */
  languageModel: (why) => `The language model could not be loaded: ${why}.`,
};
