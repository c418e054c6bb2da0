import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

import { transform } from 'esbuild';

import { first, still } from './src/chapters/opening/firstTexts.js';
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
  /** @type {ReturnType<typeof stillPicture> | undefined} */
  let picture;
  return {
    name: 'first-view',
    transformIndexHtml: {
      order: 'post',
      async handler(html) {
        const [styles, drawn] = await Promise.all([firstStyles(), (picture ??= stillPicture())]);
        /** @type {string[]} */
        const late = [];
        const early = html.replace(
          /[ \t]*(?:<script [^]*?<\/script>|<link rel="(?:modulepreload|stylesheet)"[^>]*>)\n?/g,
          (tag) => {
            late.push(tag.trim());
            return '';
          },
        );
        // Style sheets come first, because scripts wait only for the style sheets that precede
        // them.
        late.sort((a, b) => Number(b.includes('stylesheet')) - Number(a.includes('stylesheet')));
        return early
          .replace('</head>', `  <style>${styles}</style>\n  </head>`)
          .replace('<div id="app"></div>', () => `<div id="app">${viewOf(drawn)}</div>`)
          .replace('</body>', () => `${late.map((tag) => `  ${tag}\n`).join('  ')}  </body>`);
      },
    },
  };
}

/** @param {Awaited<ReturnType<typeof stillPicture>>} picture */
function viewOf({ svg, ...picture }) {
  const { failures } = still;
  const failure = (/** @type {Exclude<keyof typeof failures, 'script'>} */ name) =>
    `<p id="first-${name}" hidden>${failures[name]}</p>`;
  return `
<div class="first-page">
<header class="first-top"><span>attn</span></header>
<main>
<section class="first-words"><div><h1>${first.title}</h1><p class="first-lead">${first.lead}</p></div>
<p class="first-start label first-later"><span class="button">${first.start}</span> ${first.startNote}</p></section>
<div class="first-bar"><p>${initial.text}</p></div>
<div class="first-notes label"><p id="first-script">${failures.script}</p>
<p id="first-loading">${still.loading}</p>${failure('file')}${failure('network')}${failure('wasm')}</div>
<figure id="still" class="first-still" aria-labelledby="still-title">
<header><p id="still-title">${still.title}</p></header>
<div class="first-picture" role="img" aria-label="${still.alt(picture)}">${svg}</div>
<figcaption class="label">${still.caption(picture)}</figcaption></figure>
</main></div>
`;
}
