// Equations are TeX in modules of the name `equations.js`, which the build renders: what the page
// imports from them is HTML. An `@` is where `Equation` puts a value. One that begins with \textstyle is
// set as in a line of text.

/**
 * TeX of a symbol that is a part of the figure: both light up together.
 * @param {string} name as in `Parts`
 * @param {string} tex
 */
export const part = (name, tex) => String.raw`\htmlData{part=${name}}{${tex}}`;

/** A mask among the scores, and what it is. */
export const mask = {
  term: ` + ${part('masked', 'M')}`,
  meaning: String.raw`\qquad\allowbreak {${part('masked', 'M_{ij}')} = -\infty \text{ where excluded, else } 0}`,
};
