import { reasons } from '../texts/page.js';

/**
 * The message of an error, if attn or the page wrote it for readers. Browsers' own messages are not
 * written for readers.
 * @param {any} error
 * @returns {string | undefined}
 */
function written(error) {
  const isOwn = error?.name === 'Error' || typeof error?.code === 'string';
  return isOwn && error.code !== 'internal' ? error.message : undefined;
}

/**
 * True if a file of the page could not be fetched. Browsers do not say why, and attn's message
 * lists reasons that do not apply to this page.
 * @param {any} error
 */
const isNetwork = (error) =>
  error?.code === 'load_failed'
    ? /CORS|its script is missing/.test(error.message)
    : error?.name === 'TypeError' && /fetch|import|module script|load/i.test(error.message);

/** Explains a failure as a phrase that can follow a colon. @param {unknown} error */
export function reasonOf(error) {
  if (!isNetwork(error)) {
    return written(error) ?? reasons.unexpected;
  }
  return globalThis.navigator?.onLine === false ? reasons.offline : reasons.unreachable;
}

/** Describes a failure in a sentence. @param {unknown} error */
export function sentenceOf(error) {
  const reason = reasonOf(error);
  return reason === written(error) ? reason : `${reason[0].toUpperCase()}${reason.slice(1)}.`;
}
