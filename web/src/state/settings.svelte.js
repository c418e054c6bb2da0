import { host } from '../host/host.js';
import { place } from './place.svelte.js';
import { initial, untrained } from './properties/index.js';
import {
  correctedSettings,
  formatSettings,
  isFromLaterVersion,
  parseSettings,
  version,
} from './url.js';

/**
 * True if the reader has turned on the browser's data saver. The page then fetches the language
 * model only when asked.
 */
const saves = Boolean(/** @type {any} */ (navigator).connection?.saveData);

/** The settings of a page that is opened without a link. A reset restores them. */
export const beginning = saves ? untrained : initial;

/** True if a link has no settings. It may still name a chapter or a figure. @param {string} hash */
const isBare = (hash) => /^(?:#(?:(?:at|embed)=[^&]*)?)?$/.test(hash);

/** @param {string} hash */
const settingsIn = (hash) => (isBare(hash) ? { ...beginning } : parseSettings(hash));

/** The settings of the page, mirrored in the URL. */
export const settings = $state(settingsIn(location.hash));

/** True if the page was opened without settings, and begins with the language model. */
export const beginsLearned = isBare(location.hash) && !saves;

/**
 * The current link: whether a later version of the page made it, its settings, the settings that
 * were corrected, and its target. The target is cleared once the reader moves on.
 */
let link = $state.raw(linkOf(location.hash));

let followed = $state(0);

/** Number of links followed since the page was opened. */
export const linksFollowed = () => followed;

/** @param {string} hash */
function linkOf(hash) {
  const parameters = new URLSearchParams(hash.slice(1));
  return {
    later: isFromLaterVersion(hash),
    read: formatSettings(settingsIn(hash)),
    at: parameters.get('at'),
    isEmbedded: parameters.has('embed'),
    hasSentence: parameters.get('sentence') === '1',
    corrected: correctedSettings(hash),
  };
}

/** True if the link shows a single figure, as a part of another page. */
export const isEmbedded = () => link.isEmbedded;

/** True if the link of an embedded figure also shows the text field for the sentence. */
export const hasSentence = () => link.hasSentence;

/** True if the page shows a link made by a later version, which may contain unknown settings. */
export const isLinkFromLaterVersion = () => link.later && link.read === fragment;

/**
 * The settings whose values in the link were invalid and were corrected. Empty once the reader
 * changes a setting.
 */
export const correctedInLink = () => (link.read === fragment ? link.corrected : []);

/** @typedef {keyof import('./properties/index.js').Settings} SettingName */

/** Browsers allow about 100 history changes in 30 seconds, and typing would exceed that. */
const urlDelay = 250;
const carriedDelay = 1000;

/** The settings as a fragment, computed once per change for all callers. */
const fragment = $derived(formatSettings(settings));

/**
 * Values that replace the settings in links while something is running.
 * @type {Partial<typeof initial>}
 */
let carried = $state.raw({});

/**
 * Sets the values that replace the settings in links.
 * @param {Partial<typeof initial>} changes
 */
export function carry(changes) {
  carried = changes;
}

/** The fragment used in links. */
const linked = $derived(formatSettings({ ...settings, ...carried }));

/** The fragment shown in the address bar. It is empty while the settings equal `beginning`. */
const address = $derived(linked === formatSettings(beginning) ? '' : linked || `v=${version}`);

/** The settings as a fragment of the URL, without '#'. */
export const currentFragment = () => fragment;

/**
 * Keeps settings and URL in sync. Once a chapter has been chosen, the URL also names the chapter in
 * view. Call it while a component is being set up.
 */
export function mirrorSettingsInUrl() {
  const write = () => {
    // Leave a link of a later version unchanged, so that the later version can still read it. The
    // address of an embedded figure is invisible.
    if (isLinkFromLaterVersion() || link.isEmbedded) return;
    if (link.at && !place.isGoing && place.chapter !== link.at.split('.')[0]) {
      link = { ...link, at: null };
    }
    const at = place.chosen || link.at;
    const next = at ? fragmentTo(at) : `#${address}`;
    if (next.slice(1) === location.hash.slice(1)) return;
    const url = next === '#' ? location.pathname + location.search : next;
    history.replaceState(history.state, '', url);
  };
  $effect(() => {
    // `write()` depends on these three values, which don't always change together.
    void [address, fragment, place.chapter];
    const timer = setTimeout(write, urlDelay);
    return () => clearTimeout(timer);
  });
  // The timer above waits for a pause. If values change continuously, there is no pause, so also
  // write at intervals.
  let isSoon = false;
  $effect(() => {
    void address;
    if (isSoon) return;
    isSoon = true;
    setTimeout(() => {
      isSoon = false;
      write();
    }, carriedDelay);
  });
  $effect(() => {
    // Back and Forward move through the places that the reader visited. The settings stay the same.
    const goBack = () => {
      if (!place.isInHistory) return;
      place.goBack();
      write();
    };
    const read = (/** @type {HashChangeEvent} */ { newURL }) => {
      if (place.isInHistory) return;
      // Use the event's URL, because the address may have changed since the event.
      const hash = newURL.replace(/^[^#]*/, '');
      link = linkOf(hash);
      followed++;
      Object.assign(settings, settingsIn(hash));
      place.reset();
      place.follow(hash);
    };
    place.follow(location.hash);
    addEventListener('popstate', goBack);
    addEventListener('hashchange', read);
    return () => {
      removeEventListener('popstate', goBack);
      removeEventListener('hashchange', read);
    };
  });
}

/** @param {readonly SettingName[]} names */
export function areInitial(names) {
  return names.every((name) => JSON.stringify(settings[name]) === JSON.stringify(beginning[name]));
}

/** @param {readonly SettingName[]} names */
export function reset(names) {
  for (const name of names) /** @type {any} */ (settings)[name] = beginning[name];
}

/**
 * @param {string} fragment without '#'
 * @param {string} at a chapter, or one of its figures: `chapter.figure`
 */
const leading = (fragment, at) => `#${fragment}${fragment && '&'}at=${at}`;

/** The page's address at a place, with '#', for links within the page. @param {string} at */
export const fragmentTo = (at) => leading(address, at);

/**
 * The link to one figure alone, with the current settings.
 * @param {string} figure
 */
export const linkToEmbed = (figure) => `${host.address()}#embed=${figure}${linked && '&'}${linked}`;

/**
 * The settings as a fragment for links, without '#'. It is never empty, so a link shows the same in
 * every browser.
 * @param {Partial<typeof initial>} [changes]
 */
export const fragmentToSave = (changes) =>
  formatSettings({ ...settings, ...carried, ...changes }) || `v=${version}`;

/**
 * The link to the current settings at a chapter or figure, as pictures and programs name it.
 * @param {string} at
 */
export const linkTo = (at) => host.address() + leading(linked, at);

/**
 * A complete URL that opens the page in this browser with the current settings at a chapter or
 * figure.
 * @param {string} at
 */
export const linkHere = (at) => location.href.replace(/#.*|$/, leading(linked, at));
