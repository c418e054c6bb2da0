/** Names of the positional schemes. */
export const schemeTitles = /** @type {const} */ ({
  none: 'none',
  sinusoidal: 'sinusoidal',
  learned: 'learned',
  rotary: 'rotary',
  alibi: 'ALiBi',
  t5: 'T5',
  shaw: 'Shaw',
  yours: 'yours',
});

/** @typedef {keyof typeof schemeTitles} Scheme */

export const schemes = /** @type {Scheme[]} */ (Object.keys(schemeTitles));
