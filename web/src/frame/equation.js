// Equations are TeX in modules of the name `equations.js`, which the build renders: what the page
// imports from them is HTML. One that begins with \textstyle is set as in a line of text.

/**
 * TeX of a symbol that is a part of the figure: both light up together.
 * @param {string} name as in `Parts`
 * @param {string} tex
 */
export const part = (name, tex) => String.raw`\htmlData{part=${name}}{${tex}}`;

/**
 * A rendered equation with a value in the place of its `@`.
 * @param {string} equation
 * @param {number} value
 */
export const withValue = (equation, value) => equation.replaceAll('@', String(value));
