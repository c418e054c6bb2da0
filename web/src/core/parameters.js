/**
 * Copies of a layer's parameters by name.
 * @param {{ parameterNames: () => string[], parameter: (name: any) => import('attn').Tensor }}
 *   layer
 * @returns {Record<string, import('attn').Tensor>}
 */
export const parametersOf = (layer) =>
  Object.fromEntries(layer.parameterNames().map((name) => [name, layer.parameter(name)]));
