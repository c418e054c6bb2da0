/** What a reader presses where a page may not write to the clipboard. */
const keys = () => (/Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘C' : 'Ctrl+C');

/**
 * Copies a text. Without a secure context, or without permission, pages have no clipboard: then the text is
 * selected for the reader.
 * @param {string} text
 * @param {() => void} select
 * @returns {Promise<string>} what to tell the reader; nothing if it is copied
 */
export async function copy(text, select) {
  try {
    await navigator.clipboard.writeText(text);
    return '';
  } catch {
    select();
    return `selected: press ${keys()}`;
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
