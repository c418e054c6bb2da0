// Starts the page in the single file. The build puts this script into that file.

import { readPart } from './parts.js';

// The text of this file. From this text, the page saves itself and single figures as new files.
/** @type {any} */ (globalThis).__FILE__ =
  `<!doctype html>\n${document.documentElement.outerHTML}\n`;

// A link to the file takes precedence over the settings that the file contains.
const fragment = document.querySelector('meta[name="attn-fragment"]')?.getAttribute('content');
if (fragment && !location.hash) history.replaceState(null, '', `#${fragment}`);

// If the address asks for one embedded figure, the styles hide the first view.
if (/[#&]embed=/.test(location.hash)) document.documentElement.dataset.only = 'embedded';

/** @param {string} tag @param {string} part */
async function append(tag, part) {
  const element = document.createElement(tag);
  element.textContent = await readPart(part).text();
  document.head.append(element);
}

append('style', 'page.css')
  .then(() => append('script', 'page.js'))
  .catch((error) => {
    document.getElementById('first-unpack')?.removeAttribute('hidden');
    document.getElementById('first-loading')?.setAttribute('hidden', '');
    throw error;
  });
