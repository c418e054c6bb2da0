/**
 * The parameters of a layer by their names, copies.
 * @param {{ parameterNames: () => string[], parameter: (name: any) => import('attn').Tensor }} layer
 * @returns {Record<string, import('attn').Tensor>}
 */
export const parametersOf = (layer) =>
  Object.fromEntries(layer.parameterNames().map((name) => [name, layer.parameter(name)]));
