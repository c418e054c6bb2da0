import { code } from '../texts/frame.js';

/**
 * The keys that copy the selection, for readers whose browser does not let the page write to the
 * clipboard.
 */
const keys = () => (/Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘C' : 'Ctrl+C');

/**
 * Copies a text. A page without a secure context or permission cannot write to the clipboard. In
 * that case, selects the text for the reader to copy.
 * @param {string} text
 * @param {() => void} select
 * @returns {Promise<string>} a message for the reader; empty if the text was copied
 */
export async function copy(text, select) {
  try {
    await navigator.clipboard.writeText(text);
    return '';
  } catch {
    select();
    return code.selected(keys());
  }
}

/** Selects all text of an element. @param {Element} element */
export function selectAll(element) {
  const selection = getSelection();
  selection?.removeAllRanges();
  const range = document.createRange();
  range.selectNodeContents(element);
  selection?.addRange(range);
}
