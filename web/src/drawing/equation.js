// Equations are TeX in modules named `equations.js`. The build renders them, so the page imports
// HTML. `Equation` replaces an `@` with a value. An equation that begins with \textstyle is set as
// in running text.

/**
 * TeX for a symbol that corresponds to a part of the figure. Both are highlighted together.
 * @param {string} name as in `Parts`
 * @param {string} tex
 */
export const part = (name, tex) => String.raw`\htmlData{part=${name}}{${tex}}`;

const masked = part('masked', String.raw`\text{mask}`);
/** A mask added to the scores, and its definition. */
export const mask = {
  term: ` + ${masked}`,
  meaning: String.raw`\qquad\allowbreak {${masked} = -\infty \text{ where hidden, else } 0}`,
};
