/** @import { Page } from 'playwright-core' */

/**
 * Largest displacement of a pixel, in pixels of the pictures. Two of these pixels are one CSS
 * pixel, because pictures have twice the page's resolution.
 */
const kAway = 2;
/**
 * How far a channel of a pixel may be outside of the range of the surrounding pixels, on a scale
 * from 0 to 255.
 */
const kChannel = 40;
/**
 * Side length of a block, in pixels of the pictures, and the largest permitted share of pixels
 * without a match.
 */
const kBlock = 16;
const kShare = 0.06;

/**
 * Compares two pictures block by block. A pixel has a match if its colour is within the range of
 * colours around the same place in the other picture. This rule tolerates the edges of letters and
 * lines, which may not end on whole pixels. A missing or extra element affects more pixels: at
 * twice the resolution, a line of one CSS pixel takes an eighth of a block.
 * @param {Page} page the page in which the comparison runs
 * @param {Buffer} first PNG
 * @param {Buffer} second PNG
 * @returns {Promise<{ blocks: number, different: string[] }>} `different` lists the blocks in which
 * the pictures differ, as "x,y: share"
 */
export const compare = (page, first, second) =>
  page.evaluate(
    async ({ sources, kChannel, kAway, kBlock, kShare }) => {
      const [a, b] = await Promise.all(
        sources.map(async (source) => {
          const image = new Image();
          image.src = `data:image/png;base64,${source}`;
          await image.decode();
          const canvas = new OffscreenCanvas(image.width, image.height);
          const context = /** @type {OffscreenCanvasRenderingContext2D} */ (
            canvas.getContext('2d', { willReadFrequently: true })
          );
          context.drawImage(image, 0, 0);
          return context.getImageData(0, 0, image.width, image.height);
        }),
      );
      const [width, height] = [Math.min(a.width, b.width), Math.min(a.height, b.height)];
      const off = new Uint16Array(Math.ceil(width / kBlock) * Math.ceil(height / kBlock));
      /** True if a pixel of one picture has a match in the other. */
      const isFound = (
        /** @type {ImageData} */ one,
        /** @type {ImageData} */ other,
        /** @type {number} */ x,
        /** @type {number} */ y,
      ) => {
        for (let channel = 0; channel < 3; channel++) {
          const value = one.data[4 * (y * one.width + x) + channel];
          let [low, high] = [255, 0];
          for (let v = y - kAway; v <= y + kAway; v++) {
            for (let u = x - kAway; u <= x + kAway; u++) {
              const near = other.data[4 * (v * other.width + u) + channel];
              if (near < low) low = near;
              if (near > high) high = near;
            }
          }
          if (value < low - kChannel || value > high + kChannel) return false;
        }
        return true;
      };
      for (let y = kAway; y < height - kAway; y++) {
        for (let x = kAway; x < width - kAway; x++) {
          const [i, j] = [4 * (y * a.width + x), 4 * (y * b.width + x)];
          if (
            a.data[i] === b.data[j] &&
            a.data[i + 1] === b.data[j + 1] &&
            a.data[i + 2] === b.data[j + 2]
          )
            continue;
          if (isFound(a, b, x, y) && isFound(b, a, x, y)) continue;
          off[Math.floor(y / kBlock) * Math.ceil(width / kBlock) + Math.floor(x / kBlock)]++;
        }
      }
      /** @type {string[]} */
      const different = [];
      off.forEach((count, i) => {
        const share = count / kBlock ** 2;
        if (share <= kShare) return;
        const column = i % Math.ceil(width / kBlock);
        const row = Math.floor(i / Math.ceil(width / kBlock));
        different.push(`${column * kBlock},${row * kBlock}: ${share.toFixed(2)}`);
      });
      return { blocks: off.length, different };
    },
    {
      sources: [first, second].map((picture) => picture.toString('base64')),
      ...{ kChannel, kAway, kBlock, kShare },
    },
  );
