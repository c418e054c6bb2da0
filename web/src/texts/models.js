/** Texts about models that figures and the bar show. */

/** @param {number} width @param {string} base */
export const sizes = (width, base) => `model: width ${width}, base ${base}`;
/** @param {number} tokens */
export const looksBack = (tokens) => `The model looks back ${tokens} tokens.`;
