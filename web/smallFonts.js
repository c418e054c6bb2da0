// @ts-expect-error: the package has no types
import subsetFont from 'subset-font';

/** Letters, digits, punctuation and signs that the page and its equations use. */
const characters =
  String.fromCharCode(
    ...Array.from({ length: 95 }, (_, i) => 32 + i),
    ...Array.from({ length: 96 }, (_, i) => 160 + i),
  ) +
  '–—‘’“”…‰ ‑‖′″⁄−×·÷±∓√∞≤≥≈≠≡∼∝→←↑↓↔↦∈∉∑∏∂∇∘∙⋅⋯⋮⋱⊤⊥∣∥⟨⟩⌈⌉⌊⌋∗ℓℝ' +
  'αβγδεζηθικλμνξοπρστυφχψωϵϑϕϖϱςΓΔΘΛΞΠΣΥΦΨΩ' +
  '₀₁₂₃₄₅₆₇₈₉⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻';

/** Weights that the page uses, of the fonts that offer more. */
const axes = {
  'serif-4-latin-wght-normal': { wght: { min: 400, max: 650 } },
  'serif-4-latin-wght-italic': { wght: 400 },
  'sans-3-latin-wght-normal': { wght: { min: 400, max: 700 } },
};

/** KaTeX's fonts that its equations here use: not the script, Fraktur and typewriter letters. */
const usedOfKatex =
  /^KaTeX_(?:AMS|Main-Regular|Main-Bold|Math-Italic|SansSerif-Regular|Size[1-4]-Regular)$/;

/**
 * Keeps of the fonts what is used: of KaTeX's some families, as WOFF2 alone, and of each font the
 * characters above. In the built page only.
 * @returns {import('vite').Plugin}
 */
export function smallFonts() {
  return {
    name: 'small-fonts',
    enforce: 'pre',
    apply: 'build',
    transform: (code, id) =>
      /katex.*\.css$/.test(id)
        ? code
            .replace(/,\s*url\([^)]*\.(?:woff|ttf)\)\s*format\(["'](?:woff|truetype)["']\)/g, '')
            .replace(/@font-face\s*\{[^}]*fonts\/([\w-]+)\.woff2[^}]*\}/g, (face, name) =>
              usedOfKatex.test(name) ? face : '',
            )
        : undefined,
    async generateBundle(_, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== 'asset' || !file.fileName.endsWith('.woff2')) continue;
        const { fileName } = file;
        const variationAxes = Object.entries(axes).find(([name]) => fileName.includes(name))?.[1];
        file.source = await subsetFont(Buffer.from(file.source), characters, {
          targetFormat: 'woff2',
          variationAxes,
        });
      }
    },
  };
}
