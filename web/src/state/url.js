import { firstVersion, properties } from './properties/index.js';

/**
 * Version of the links that this page makes. Increase it when the meaning of a link changes. The
 * page reads links of every earlier version. A link without a version counts as a link of this
 * version.
 */
export const version = 2;

/** @typedef {import('./properties/index.js').Settings} Settings */
/** @typedef {import('./properties/property.js').Property<any>} AnyProperty */

/**
 * The properties that read the settings of a link, by the version of the link.
 * @type {Record<number, Record<keyof Settings, AnyProperty>>}
 */
const meanings = { 1: firstVersion, 2: properties };

/** @type {[keyof Settings, AnyProperty][]} */
const entries = /** @type {any} */ (Object.entries(properties));

/** @param {string} fragment with or without its leading '#' */
function parametersOf(fragment) {
  const given = new URLSearchParams(fragment.replace(/^#/, ''));
  const stated = given.get('v') ?? '';
  const of = /^\d+$/.test(stated) ? Number(stated) : version;
  const meaning = meanings[of] ?? properties;
  const names = /** @type {(keyof Settings)[]} */ (Object.keys(meaning));
  return { given, of, meaning, names };
}

/**
 * True if the link is from a later version of this page, which may have more settings.
 * @param {string} fragment with or without its leading '#'
 */
export function isFromLaterVersion(fragment) {
  return parametersOf(fragment).of > version;
}

/**
 * Reads the settings from a URL fragment. Missing settings have their initial values.
 * @param {string} fragment with or without its leading '#'
 * @returns {Settings}
 */
export function parseSettings(fragment) {
  const { given, meaning, names } = parametersOf(fragment);
  return /** @type {Settings} */ (
    Object.fromEntries(
      names.map((name) => {
        const text = given.get(name);
        return [name, text === null ? meaning[name].initial : meaning[name].parse(text)];
      }),
    )
  );
}

/**
 * Returns the settings whose values in a URL fragment were invalid and have been corrected, with
 * these values.
 * @param {string} fragment with or without its leading '#'
 * @returns {{ name: keyof Settings, given: string }[]}
 */
export function correctedSettings(fragment) {
  const { given, meaning, names } = parametersOf(fragment);
  return names.flatMap((name) => {
    const text = given.get(name);
    return text === null || meaning[name].format(meaning[name].parse(text)) === text
      ? []
      : [{ name, given: text }];
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
