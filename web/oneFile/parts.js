/**
 * Reads a part of the page from this file. A part is the text of an element: compressed with gzip,
 * then encoded as Base64.
 * @param {string} name
 */
export function readPart(name) {
  const text = atob(document.getElementById(`part:${name}`)?.textContent ?? '');
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip')));
}

/**
 * Removes the parts that only a language model needs.
 * @param {string} html the file
 */
export const withoutModel = (html) =>
  html.replace(
    /<script [^>]*id="part:(?:models\.wasm|model\.safetensors|tokenizer\.json)">[^<]*<\/script>\n/g,
    '',
  );
