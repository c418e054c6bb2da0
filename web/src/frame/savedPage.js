import { download } from '../drawing/files.js';
import { host } from '../host/host.js';
import { showsOwn } from '../models/language/language.svelte.js';
import { saving as texts } from '../texts/frame.js';

/**
 * Offers a file that opens with these settings and needs no server. The build has prepared the
 * file, and only the settings and the title are filled in.
 * @param {{ name: string, fragment: string, title?: string, withModel: boolean }} page
 *   name: name of the file; fragment: the settings, without '#'; withModel: whether the file contains
 *   the language model
 */
export async function savePage({ name, fragment, title, withModel }) {
  if (showsOwn()) throw new Error(texts.withoutOwn);
  const template = await host.template(withModel);
  const place = /(<meta name="attn-fragment" content=")[^"]*/;
  // Some servers answer with another page if a file is missing.
  if (!place.test(template)) throw new Error(texts.noTemplate);
  let page = template.replace(place, (_, start) => start + escaped(fragment));
  if (title) page = page.replace(/(<title>)[^<]*/, (_, start) => start + escaped(title));
  download(name, page, 'text/html');
}

/** @param {string} text */
const escaped = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
