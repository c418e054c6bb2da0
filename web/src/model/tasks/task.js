/** @typedef {(typeof import('../sentence.js').names)[number]} GivenName */

/**
 * What the worker can be asked for. Each yields before it begins, so that one that is no longer wanted
 * never does.
 *
 * @template {string} Name
 * @template Given
 * @template Progress
 * @template Result
 * @typedef {object} Task
 * @property {Name} name
 * @property {readonly GivenName[]} reads what it depends on besides the tokens
 * @property {(attn: import('attn').Attn, given: Given) =>
 *   Generator<Progress, Result> | Promise<Result>} run
 */

/** What most tasks read. */
export const layer = /** @type {const} */ (['dModel', 'heads', 'weights', 'seed']);
export const masks = /** @type {const} */ (['causal', 'window', 'validLen', 'blocked']);
export const sentence = /** @type {const} */ ([...layer, ...masks, 'encoding', 'base']);
