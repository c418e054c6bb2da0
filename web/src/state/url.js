import { properties } from './properties.js';

/**
 * The version of the links that this page makes. It grows when the meaning of a link changes. Links of
 * every earlier version can be read; the first ones had no version in them.
 */
export const version = 1;

/** @typedef {import('./properties.js').Settings} Settings */
/** @typedef {import('./property.js').Property<any>} AnyProperty */

/** @type {[keyof Settings, AnyProperty][]} */
const entries = /** @type {any} */ (Object.entries(properties));

/**
 * Whether a link was made by a later version of this page, which may know more settings.
 * @param {string} fragment with or without its leading '#'
 */
export function isFromLaterVersion(fragment) {
  const given = new URLSearchParams(fragment.replace(/^#/, '')).get('v');
  return /^\d+$/.test(given ?? '') && Number(given) > version;
}

/**
 * The settings in a URL fragment; those that it leaves out have their initial values.
 * @param {string} fragment with or without its leading '#'
 * @returns {Settings}
 */
export function parseSettings(fragment) {
  const given = new URLSearchParams(fragment.replace(/^#/, ''));
  return /** @type {Settings} */ (
    Object.fromEntries(
      entries.map(([name, property]) => {
        const text = given.get(name);
        return [name, text === null ? property.initial : property.parse(text)];
      }),
    )
  );
}

/**
 * The settings whose values in a URL fragment are none of theirs, and were put right.
 * @param {string} fragment with or without its leading '#'
 * @returns {{ name: keyof Settings, given: string }[]}
 */
export function correctedSettings(fragment) {
  const parameters = new URLSearchParams(fragment.replace(/^#/, ''));
  return entries.flatMap(([name, property]) => {
    const given = parameters.get(name);
    return given === null || property.format(property.parse(given)) === given
      ? []
      : [{ name, given }];
  });
}

/**
 * The fragment for settings, without '#': only what differs from the initial settings is written, so
 * that an untouched page has a clean address.
 * @param {Settings} settings
 */
export function formatSettings(settings) {
  const given = new URLSearchParams();
  for (const [name, property] of entries) {
    const text = property.format(settings[name]);
    if (text !== property.format(property.initial)) given.set(name, text);
  }
  return given.size ? `v=${version}&${given}` : '';
}
