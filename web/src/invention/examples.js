import { properties } from '../state/properties/encoding.js';

/**
 * Examples of positional schemes that the reader can start from.
 * @type {Record<'sinusoid' | 'alibi' | 'triangle' | 'gaussian' | 'binary' | 'spiral' | 'random', import('./invention.js').Written>}
 */
export const examples = {
  sinusoid: {
    added: 'k % 2 == 0 ? sin(i / base^(k / d)) : cos(i / base^((k - 1) / d))',
    bias: '',
    parameters: [{ name: 'base', value: 10000, min: 2, max: 20000 }],
  },
  alibi: {
    added: '',
    bias: '-slope^(h + 1) * abs(i - j)',
    parameters: [{ name: 'slope', value: 0.25, min: 0.05, max: 1 }],
  },
  triangle: {
    added: properties.formula.initial,
    bias: properties.formulaBias.initial,
    parameters: properties.parameters.initial,
  },
  gaussian: {
    added: '',
    bias: '-(i - j)^2 / (2 * width^2)',
    parameters: [{ name: 'width', value: 2, min: 0.5, max: 20 }],
  },
  binary: { added: 'floor(i / 2^k) % 2', bias: '', parameters: [] },
  spiral: {
    added: '(1 + i / 64) * (k % 2 == 0 ? cos(speed * i / (1 + k)) : sin(speed * i / k))',
    bias: '',
    parameters: [{ name: 'speed', value: 1, min: 0.1, max: 3 }],
  },
  random: { added: '2 * random(i, k) - 1', bias: '', parameters: [] },
};
