import { schemeTitles } from '../texts/schemes.js';

/** @typedef {keyof typeof schemeTitles} Scheme */

export const schemes = /** @type {Scheme[]} */ (Object.keys(schemeTitles));
