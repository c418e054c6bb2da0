/**
 * The message of an error that was written for readers: attn's, and the page's own. The browser's are not.
 * @param {any} error
 * @returns {string | undefined}
 */
function written(error) {
  const isOwn = error?.name === 'Error' || typeof error?.code === 'string';
  return isOwn && error.code !== 'internal' ? error.message : undefined;
}

/** Whether a file of the page could not be fetched. @param {any} error */
const isNetwork = (error) =>
  error?.name === 'TypeError' && /fetch|import|module script|load/i.test(error.message);

/** Why something failed, to come after a colon. @param {unknown} error */
export const reasonOf = (error) =>
  written(error) ??
  (isNetwork(error)
    ? 'the server could not be reached'
    : 'an unexpected error occurred; reload the page and try again');

/** Why something failed, as a sentence. @param {unknown} error */
export const sentenceOf = (error) =>
  written(error) ??
  (isNetwork(error)
    ? 'The server could not be reached.'
    : 'An unexpected error occurred. Reload the page and try again.');
