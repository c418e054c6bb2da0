/**
 * The parameters that a formula contains.
 * @param {import('./invention.js').Written} written
 */
export const usedParameters = ({ added, bias, parameters }) =>
  parameters.filter(({ name }) => new RegExp(`\\b${name}\\b`).test(`${added} ${bias}`));
