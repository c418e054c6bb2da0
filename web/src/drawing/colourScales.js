// The colour scales of the page's theme. `themedScales.js` describes them.

import { theme } from '../state/theme.svelte.js';
import { themedScales } from './themedScales.js';

/** @typedef {import('./themedScales.js').Reach} Reach */
/** @typedef {ReturnType<typeof themedScales>} Scales */

/** @type {Scales['symmetricScale']} */
export const symmetricScale = (...reaches) => themedScales(theme.name).symmetricScale(...reaches);
/** @type {Scales['typicalScale']} */
export const typicalScale = (...matrices) => themedScales(theme.name).typicalScale(...matrices);
/** @type {Scales['zeroBasedScale']} */
export const zeroBasedScale = (...reaches) => themedScales(theme.name).zeroBasedScale(...reaches);
/** @type {Scales['logarithmicScale']} */
export const logarithmicScale = (low, high) => themedScales(theme.name).logarithmicScale(low, high);
/** @type {Scales['sharesScale']} */
export const sharesScale = (length) => themedScales(theme.name).sharesScale(length);
