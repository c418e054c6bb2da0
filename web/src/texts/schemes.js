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

/** Titles of the rules that stretch rotary positions. */
export const ruleTitles = {
  linear: 'rotary, linear',
  dynamic: 'rotary, NTK',
  yarn: 'rotary, YaRN',
  llama3: 'rotary, Llama 3',
};
