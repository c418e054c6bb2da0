import assert from 'node:assert/strict';
import test from 'node:test';

import {
  brief,
  compact,
  counted,
  exact,
  inWords,
  magnitude,
  percent,
  readable,
  signed,
  scientific,
} from './numbers.js';

test('exact distinguishes any two neighbouring float32 values', () => {
  const bits = new Uint32Array(1);
  const float = new Float32Array(bits.buffer);
  for (let i = 0; i < 20000; i++) {
    bits[0] = (i * 2654435761) >>> 0;
    if (!Number.isFinite(float[0])) continue;
    const text = exact(float[0]).replace('−', '-').replace('e−', 'e-');
    assert.equal(Math.fround(Number(text)), float[0], text);
  }
});

test('numbers have a real minus sign and no unnecessary zeros', () => {
  assert.equal(exact(-0.5), '−0.5');
  assert.equal(exact(0), '0');
  assert.equal(exact(1), '1');
  assert.equal(brief(-3.7264), '−3.73');
});

test('a small magnitude is not shown as zero', () => {
  assert.deepEqual([0, 0.009, 0.01, Infinity, NaN].map(magnitude), [
    ...['< 0.01', '< 0.01', '0.01', '∞', 'NaN'],
  ]);
});

test('a change has its sign unless it rounds to 0', () => {
  assert.deepEqual([-0, 0.0049, -0.0049, 0.005, -0.005, 1.5, -1.5, -Infinity, NaN].map(signed), [
    ...['0.00', '0.00', '0.00', '+0.01', '−0.01', '+1.50', '−1.50', '−∞', 'NaN'],
  ]);
});

test('readable numbers have four digits, and no digit before the decimal point is lost', () => {
  assert.equal(readable(0.160329908), '0.1603');
  assert.equal(readable(-12.3456), '−12.35');
  assert.equal(readable(1234567.8), '1234568');
  assert.equal(readable(1.19209e-7), '1.192e−7');
  assert.equal(readable(0), '0');
});

test('wavelengths fit a narrow label', () => {
  assert.equal(compact(35.333), '35');
  assert.equal(compact(6.283), '6.3');
  assert.equal(compact(62831.85), '63k');
});

test('small and large numbers are written as powers of ten', () => {
  assert.deepEqual(scientific(2.384e-7), { mantissa: '2.4', exponent: '−7' });
  assert.deepEqual(scientific(1.998), { mantissa: '2.00', exponent: null });
  assert.deepEqual(scientific(-0.25), { mantissa: '−0.250', exponent: null });
  assert.deepEqual(scientific(-2.384e-7), { mantissa: '−2.4', exponent: '−7' });
  assert.deepEqual(scientific(0), { mantissa: '0', exponent: null });
});

test('powers of ten are written out in a sentence', () => {
  assert.equal(inWords(4.8e-7), '4.8 · 10^−7');
  assert.equal(inWords(1.8), '1.80');
  assert.equal(inWords(0), '0');
});

test('a noun is singular only after the number one', () => {
  assert.equal(
    counted('Weights of head 1 of 1, 1 queries by 1 keys, in 1 sequential steps'),
    'Weights of head 1 of 1, 1 query by 1 key, in 1 sequential step',
  );
  const others = '11 tokens, 11 queries, 2,1 keys, −1 rows, 0.1 columns, head 1 looks, 1 tokenizer';
  assert.equal(counted(others), others);
});

test('a share that is NaN does not look like a small share', () => {
  assert.deepEqual([NaN, 0, 0.05, 0.5].map(percent), [
    'NaN',
    '< 0.1\u00a0%',
    '5.0\u00a0%',
    '50\u00a0%',
  ]);
});
