/**
 * The page's fonts for a picture that is taken elsewhere: those that its texts use, as files within a
 * style sheet.
 */
export class PictureFonts {
  /** @type {Set<string>} as of `key` */
  #used = new Set();

  /**
   * Notes what a text is drawn in.
   * @param {Pick<CSSStyleDeclaration, 'fontFamily' | 'fontStyle' | 'fontWeight'>} style
   */
  add({ fontFamily, fontStyle, fontWeight }) {
    const families = fontFamily.split(',').map(unquoted);
    this.#used.add([slantOf(fontStyle), fontWeight, ...families].join('|'));
  }

  async styleSheet() {
    const faces = facesOfPage();
    /** @type {Set<CSSFontFaceRule>} */
    const needed = new Set();
    for (const used of this.#used) {
      const [slant, weight, ...families] = used.split('|');
      for (const family of families) {
        const [best] = faces
          .filter((face) => face.family === family && face.slant === slant)
          .sort((a, b) => distance(a, Number(weight)) - distance(b, Number(weight)));
        if (best) needed.add(best.rule);
      }
    }
    return (await Promise.all([...needed].map(inlined))).join('\n');
  }
}

/**
 * The families of a text, and after an equation's own those of office programs that are about as wide: many
 * programs do not read the fonts that a picture brings along. The page's own families end in such ones.
 * @param {string} css
 */
export function familiesOf(css) {
  const families = css.replaceAll('"', "'");
  const [first] = families.split(/, */);
  return first.includes('KaTeX')
    ? `${first}, 'Times New Roman', 'Liberation Serif', 'DejaVu Serif Condensed', serif`
    : families;
}

/** @param {string} family */
const unquoted = (family) => family.trim().replace(/^["']|["']$/g, '');

/** @param {string} style */
const slantOf = (style) => (/italic|oblique/.test(style) ? 'italic' : 'normal');

/** How far a face is from a weight. @param {{ weights: number[] }} face @param {number} weight */
const distance = ({ weights }, weight) =>
  Math.max(0, weights[0] - weight, weight - weights[weights.length - 1]);

const facesOfPage = () =>
  [...document.styleSheets]
    .flatMap((sheet) => [...sheet.cssRules])
    .filter((rule) => rule instanceof CSSFontFaceRule)
    .map((rule) => ({
      rule,
      family: unquoted(rule.style.getPropertyValue('font-family')),
      slant: slantOf(rule.style.getPropertyValue('font-style')),
      weights: (rule.style.getPropertyValue('font-weight') || '400')
        .replace('normal', '400')
        .replace('bold', '700')
        .split(' ')
        .map(Number),
    }));

/** @param {CSSFontFaceRule} rule */
async function inlined({ style, parentStyleSheet }) {
  const [, url] = /url\("?([^")]*)/.exec(style.getPropertyValue('src')) ?? [];
  const response = await fetch(new URL(url, parentStyleSheet?.href ?? location.href));
  const bytes = new Uint8Array(await response.arrayBuffer());
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  const kept = ['font-family', 'font-weight', 'font-style', 'unicode-range']
    .filter((name) => style.getPropertyValue(name))
    .map((name) => `${name}:${style.getPropertyValue(name)}`);
  const source = `src:url(data:font/woff2;base64,${btoa(binary)}) format('woff2')`;
  return `@font-face{${[...kept, source].join(';')}}`;
}
