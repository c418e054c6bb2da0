import { masks } from '../texts/page.js';

/**
 * Describes the active masks of the page's layer in words.
 * @param {{ causal: boolean, window: number, validLen: number, blocked: readonly unknown[] }}
 *   settings
 */
export const maskNames = ({ causal, window, validLen, blocked }) =>
  [
    causal && masks.causal,
    window && `± ${window}`,
    validLen && masks.first(validLen),
    blocked.length && masks.byHand(blocked.length),
  ].filter((name) => typeof name === 'string');
