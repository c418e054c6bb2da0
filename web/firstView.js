import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

import { transform } from 'esbuild';

import { first, still } from './src/texts/first.js';
import { initial } from './src/state/properties/index.js';
import { stillPicture } from './stillPicture.js';

/** The styles of the first view, minified. */
export async function firstStyles() {
  const css = await readFile(new URL('src/first.css', import.meta.url), 'utf8');
  const { code } = await transform(css, { loader: 'css', minify: true });
  return code.trim();
}

/**
 * The entry of a content security policy that allows a style element with this content.
 * @param {string} css
 */
export const hashSource = (css) => `'sha256-${createHash('sha256').update(css).digest('base64')}'`;

/**
 * Puts the first words of the page and a still picture into `index.html`, with their styles.
 * Readers see them until the scripts have loaded, or permanently if scripts cannot run. All other
 * files are requested after `index.html`.
 * @returns {import('vite').Plugin}
 */
export function firstView() {
  return {
    name: 'first-view',
    transformIndexHtml: {
      order: 'post',
      async handler(html) {
        /** @type {string[]} */
        const late = [];
        const early = html.replace(
          /[ \t]*(?:<script [^]*?<\/script>|<link rel="(?:modulepreload|stylesheet)"[^>]*>)\n?/g,
          (tag) => {
            late.push(tag.trim());
            return '';
          },
        );
        // Put style sheets first, because scripts wait only for the style sheets before them.
        late.sort((a, b) => Number(b.includes('stylesheet')) - Number(a.includes('stylesheet')));
        return (await withFirstView(early, ['file', 'sandbox', 'network', 'wasm'])).replace(
          '</body>',
          () => `${late.map((tag) => `  ${tag}\n`).join('  ')}  </body>`,
        );
      },
    },
  };
}

/** @type {ReturnType<typeof stillPicture> | undefined} */
let picture;

/** @typedef {Exclude<keyof typeof still.failures, 'script'>} Failure */

/**
 * Puts the first words and the still picture into a page.
 * @param {string} html
 * @param {Failure[]} failures reasons for which the live page may be unable to start
 */
export async function withFirstView(html, failures) {
  const [styles, drawn] = await Promise.all([firstStyles(), (picture ??= stillPicture())]);
  return html
    .replace('</head>', `  <style>${styles}</style>\n  </head>`)
    .replace('<div id="app"></div>', () => `<div id="app">${viewOf(drawn, failures)}</div>`);
}

/** @param {Awaited<ReturnType<typeof stillPicture>>} picture @param {Failure[]} failures */
function viewOf({ svg, ...picture }, failures) {
  const failure = (/** @type {Failure} */ name) =>
    `<p id="first-${name}" hidden>${still.failures[name]}</p>`;
  return `
<div class="first-page">
<header class="first-top"><span>attn</span></header>
<main>
<section class="first-words"><div><h1>${first.title}</h1><p class="first-lead">${first.lead}</p></div>
<p class="first-start label first-later"><span class="button">${first.start}</span> ${first.startNote}</p></section>
<div class="first-bar"><p>${initial.text}</p></div>
<div class="first-notes label" data-beside><p id="first-script">${still.failures.script}</p>
<p id="first-loading">${still.loading}</p>${failures.map(failure).join('')}</div>
<figure id="still" class="first-still" aria-labelledby="still-title">
<header><p id="still-title">${still.title}</p></header>
<div class="first-picture" role="img" aria-label="${still.alt(picture)}">${svg}</div>
<figcaption class="label">${still.caption(picture)}</figcaption></figure>
</main></div>
`;
}
