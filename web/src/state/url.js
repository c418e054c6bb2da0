import { properties } from './properties/index.js';

/**
 * Version of the links that this page makes. Increase it when the meaning of a link changes. The
 * page reads links of every earlier version; the first had no version number.
 */
export const version = 1;

/** @typedef {import('./properties/index.js').Settings} Settings */
/** @typedef {import('./properties/property.js').Property<any>} AnyProperty */

/** @type {[keyof Settings, AnyProperty][]} */
const entries = /** @type {any} */ (Object.entries(properties));

/**
 * True if a later version of this page, which may have more settings, made the link.
 * @param {string} fragment with or without its leading '#'
 */
export function isFromLaterVersion(fragment) {
  const given = new URLSearchParams(fragment.replace(/^#/, '')).get('v');
  return /^\d+$/.test(given ?? '') && Number(given) > version;
}

/**
 * Reads the settings from a URL fragment. Missing ones have their initial values.
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
 * Names the settings in a URL fragment whose values were invalid and have been corrected.
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
 * Writes settings as a fragment without '#'. Only settings that differ from their initial values
 * are written, so that an untouched page has a clean address.
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
