// Turns positional encodings into the pixels of a heatmap. The heatmap has a row for each position
// and a column for each dimension, and its colours go from blue (−1) through white (0) to red (1).

import { load } from 'attn';

const attn = await load();

const [height, width] = [60, 32];
const encoding = attn.sinusoidalEncoding({ length: height, dModel: width });

const pixels = new Uint8ClampedArray(4 * height * width);
encoding.data.forEach((value, i) => {
  const faded = 255 * (1 - Math.abs(value));
  pixels.set(value < 0 ? [faded, faded, 255, 255] : [255, faded, faded, 255], 4 * i);
});

if (globalThis.document) {
  const canvas = document.createElement('canvas');
  Object.assign(canvas, { width, height });
  canvas.getContext('2d')?.putImageData(new ImageData(pixels, width), 0, 0);
  document.body.append(canvas);
}
console.log('pixel of sin(0)', pixels.subarray(0, 4));
console.log('pixel of cos(0)', pixels.subarray(4, 8));
