import assert from 'node:assert/strict';
import test from 'node:test';

import { lab, rgb } from 'd3-color';
import { interpolateBasis } from 'd3-interpolate';

import {
  colourIndex,
  colourMaps,
  colourOf,
  colourPixels,
  labOf,
  rgbOf,
  size,
  splineOf,
} from './colour.js';

/** @typedef {import('./colour.js').ColourMap} ColourMap */

const themes = /** @type {const} */ ([
  ['light', colourMaps(false)],
  ['dark', colourMaps(true)],
]);

/** @param {ColourMap} map */
const labs = (map) => map.css.map((colour) => lab(colour));

/** @param {ReturnType<typeof lab>} a @param {ReturnType<typeof lab>} b */
const distance = (a, b) => Math.hypot(a.l - b.l, a.a - b.a, a.b - b.b);

/**
 * A colour as seen by a dichromat who lacks long- or middle-wave cones (Viénot, Brettel and Mollon
 * 1999).
 * @param {string} colour
 * @param {'protan' | 'deutan'} kind
 */
function seenBy(colour, kind) {
  const { r, g, b } = rgb(colour);
  const [red, green, blue] = [r, g, b].map((value) =>
    value <= 10.31475 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
  );
  const confused =
    kind === 'protan' ? 0.11238 * red + 0.88762 * green : 0.29275 * red + 0.70725 * green;
  const rest =
    kind === 'protan'
      ? 0.00401 * red - 0.00401 * green + blue
      : -0.02234 * red + 0.02234 * green + blue;
  const [x, y] = [confused, rest].map((value) => {
    const clipped = Math.min(1, Math.max(0, value));
    return 255 * (clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * clipped ** (1 / 2.4) - 0.055);
  });
  return lab(rgb(x, x, y));
}

test('converting to CIELAB and back restores the colour', () => {
  for (let i = 0; i < 4096; i += 7) {
    const parts = [i >> 8, (i >> 4) & 15, i & 15].map((part) => 17 * part);
    const hex = `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
    const expected = lab(hex);
    const actual = labOf(hex);
    for (const axis of /** @type {const} */ (['l', 'a', 'b'])) {
      assert.ok(Math.abs(actual[axis] - expected[axis]) < 1e-3, `${axis} of ${hex}`);
    }
    assert.deepEqual(rgbOf(actual), parts);
  }
});

for (const [theme, { signed, weights }] of themes) {
  test(`${theme}: equal steps in value are equal steps in colour`, () => {
    for (const map of [signed, weights]) {
      const colours = labs(map);
      // The step is so wide that rounding to 8 bits, which changes a colour by about half a unit of
      // distance, hardly matters.
      const step = Math.floor(size / 20);
      const half = map.signed ? (size - 1) / 2 : 0;
      for (const arm of map.signed
        ? [colours.slice(0, half + 1), colours.slice(half)]
        : [colours]) {
        const steps = [];
        for (let i = step; i < arm.length; i += step) steps.push(distance(arm[i], arm[i - step]));
        const mean = steps.reduce((sum, value) => sum + value) / steps.length;
        for (const value of steps) {
          assert.ok(Math.abs(value / mean - 1) < 0.12, `${value} against ${mean}`);
        }
      }
    }
  });

  test(`${theme}: lightness is monotonic on each side of zero`, () => {
    const direction = theme === 'light' ? -1 : 1;
    const middle = (size - 1) / 2;
    const lightness = labs(signed).map(({ l }) => l);
    for (const arm of [
      labs(weights).map(({ l }) => l),
      lightness.slice(middle),
      lightness.slice(0, middle + 1).reverse(),
    ]) {
      for (let i = 1; i < arm.length; i++) assert.ok((arm[i] - arm[i - 1]) * direction > -0.6);
    }
  });

  test(`${theme}: zero is the paper's colour, and both signs are equally strong`, () => {
    const zero = signed.css[(size - 1) / 2];
    assert.equal(zero, weights.css[0]);
    assert.equal(zero, theme === 'light' ? 'rgb(253, 252, 249)' : 'rgb(22, 22, 24)');
    const paper = lab(zero);
    for (const part of [0.25, 0.5, 1]) {
      const offset = Math.round((part * (size - 1)) / 2);
      const [negative, positive] = [-offset, offset].map((at) =>
        distance(lab(signed.css[(size - 1) / 2 + at]), paper),
      );
      assert.ok(Math.abs(negative / positive - 1) < 0.2, `${negative} against ${positive}`);
    }
  });

  test(`${theme}: positive and negative colours remain distinguishable for protanopes and deuteranopes`, () => {
    const middle = (size - 1) / 2;
    for (const kind of /** @type {const} */ (['protan', 'deutan'])) {
      for (const part of [0.25, 0.5, 1]) {
        const offset = Math.round(part * middle);
        const [negative, positive] = [-offset, offset].map((at) =>
          seenBy(signed.css[middle + at], kind),
        );
        assert.ok(distance(negative, positive) > 20, `${kind} at ${part}`);
      }
    }
  });
}

test('splines match d3', () => {
  const values = [3, -1, 4, 1, 5];
  for (const count of [2, 3, 5]) {
    const [own, other] = [splineOf, interpolateBasis].map((of) => of(values.slice(0, count)));
    for (let t = 0; t <= 1; t += 1 / 256) assert.equal(own(t), other(t), `${count} at ${t}`);
  }
});

test('values map to entries of the colour map, and values outside the domain map to its nearest end', () => {
  const map = colourMaps(false).signed;
  const scale = { map, domain: /** @type {[number, number]} */ ([-2, 2]) };
  assert.equal(colourIndex(scale, 0), (size - 1) / 2);
  assert.equal(colourIndex(scale, -2), 0);
  assert.equal(colourIndex(scale, 99), size - 1);
  assert.equal(colourOf(scale, -99), map.css[0]);
});

test('an empty domain maps to the start of the colours', () => {
  const map = colourMaps(false).weights;
  assert.equal(colourIndex({ map, domain: [0, 0] }, 0), 0);
});

test('a logarithmic scale gives equal ratios equal steps and maps zero to its start', () => {
  const map = colourMaps(false).weights;
  const scale = { map, domain: /** @type {[number, number]} */ ([1e-8, 1]), log: true };
  const index = (/** @type {number} */ value) => colourIndex(scale, value);
  assert.deepEqual([1e-8, 1e-4, 1].map(index), [0, (size - 1) / 2, size - 1]);
  assert.deepEqual([0, -1, 1e-12, 7].map(index), [0, 0, 0, size - 1]);
});

test('converting many values gives each value its own colour', () => {
  const { signed, weights } = colourMaps(false);
  const values = Float32Array.from({ length: 2000 }, (_, i) => Math.sin(i) * 3 ** (i % 9));
  const pixels = new Uint32Array(values.length);
  for (const scale of /** @type {import('./colour.js').ColourScale[]} */ ([
    { map: signed, domain: [-100, 100] },
    { map: weights, domain: [0, 0.7] },
    { map: weights, domain: [0, 0] },
    { map: weights, domain: [1e-3, 1], log: true },
  ])) {
    colourPixels(scale, values, pixels);
    const bytes = new Uint8Array(pixels.buffer);
    values.forEach((value, i) => {
      const [red, green, blue, alpha] = bytes.subarray(4 * i);
      assert.equal(`rgb(${red}, ${green}, ${blue})`, colourOf(scale, value));
      assert.equal(alpha, 255);
    });
  }
});

test('if all values are 0, they have the colour of zero', () => {
  const { signed, weights } = colourMaps(false);
  const pixels = new Uint32Array(2);
  for (const [map, entry] of /** @type {const} */ ([
    [signed, (size - 1) / 2],
    [weights, 0],
  ])) {
    const scale = { map, domain: /** @type {[number, number]} */ ([-0, 0]) };
    assert.equal(colourIndex(scale, 0), entry);
    colourPixels(scale, Float32Array.of(0, -0), pixels);
    assert.deepEqual(
      [...new Uint8Array(pixels.buffer, 4, 3)],
      [...map.bytes.subarray(3 * entry, 3 * entry + 3)],
    );
  }
});
