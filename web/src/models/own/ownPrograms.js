// The programs of each figure for a reader's model.

import { orderOf } from '../../core/shuffle.js';

/** @typedef {import('../../core/sentence.js').Given} Given */

const load = () => import('./ownCode.js');
/** @param {(module: typeof import('./ownCode.js')) => object} of */
const loaded = (of) => ({ load, of });

/** @param {Given} given @param {number} most */
const first = (given, most) => ({
  ...given,
  ...{ ids: given.ids.slice(0, most), tokens: given.tokens.slice(0, most) },
});

/**
 * The programs of a figure that shows these settings; undefined if it has none for this model.
 * @type {Record<string, (given: Given, facts: import('./ownServer.js').Facts, shown: () => any) =>
 *   ReturnType<typeof loaded> | undefined>}
 */
export const ownPrograms = {
  attention: (given) => loaded(({ ownAttentionCode }) => ownAttentionCode(given)),
  stages: (given, { description }) =>
    loaded(({ ownStagesCode }) => ownStagesCode(given, description.layers[given.layer].headDim)),
  edit: (given, { description }, shown) =>
    loaded(({ ownEditCode }) => ownEditCode(given, description.layers[given.layer], shown())),
  wall: (given, { numHeads: heads, numLayers: layers }, shown) => {
    const { length, order } = shown();
    if (order === 'place') return undefined;
    const pattern = order === 'layer' ? 'previousToken' : order;
    return loaded(({ ownWallCode }) =>
      ownWallCode(first(given, length), { pattern, heads, layers }),
    );
  },
  next: (given, { description: { vocabSize } }, shown) =>
    loaded(({ ownNextCode }) => ownNextCode(given, { ...shown(), vocabSize })),
  block: (given, { dModel }, shown) =>
    loaded(({ ownBlockCode }) => ownBlockCode(first(given, shown()), dModel)),
  cache: (given, { dModel }, shown) =>
    loaded(({ ownCacheCode }) => ownCacheCode(first(given, shown()), dModel)),
  loss: (given, { description: { vocabSize } }) =>
    loaded(({ ownLossCode }) => ownLossCode(given, orderOf(given.ids.length, given), vocabSize)),
};
