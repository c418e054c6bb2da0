/** @typedef {(typeof import('../../core/sentence.js').names)[number]} GivenName */

/**
 * A task of the worker. It yields before it begins, so that a task cancelled early never starts.
 * @template {string} Name
 * @template Given
 * @template Progress
 * @template Result
 * @typedef {object} Task
 * @property {Name} name
 * @property {readonly GivenName[]} reads settings that it depends on, besides the tokens
 * @property {(attn: import('attn').Attn, given: Given) =>
 *   Generator<Progress, Result> | Promise<Result>} run
 */

/** The settings that most tasks depend on. */
export const layer = /** @type {const} */ (['dModel', 'heads', 'weights', 'layer', 'seed']);
export const masks = /** @type {const} */ (['causal', 'window', 'validLen', 'blocked']);
export const sentence = /** @type {const} */ ([...layer, ...masks, 'encoding', 'base']);
