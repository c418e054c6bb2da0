/**
 * Describes the active masks of the page's layer in words.
 * @param {{ causal: boolean, window: number, validLen: number, blocked: readonly unknown[] }}
 *   settings
 */
export const maskNames = ({ causal, window, validLen, blocked }) =>
  [
    causal && 'causal',
    window && `± ${window}`,
    validLen && `first ${validLen}`,
    blocked.length && `${blocked.length} by hand`,
  ].filter((name) => typeof name === 'string');
