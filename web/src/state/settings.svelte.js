import { place } from './place.svelte.js';
import { initial } from './properties.js';
import { correctedSettings, formatSettings, isFromLaterVersion, parseSettings } from './url.js';

/** The settings of the page: the one state object, mirrored in the URL. */
export const settings = $state(parseSettings(location.hash));

/**
 * The link that was followed: whether a later version of the page made it, which settings it had, and
 * which of them had to be put right.
 */
let link = $state.raw(linkOf(location.hash));

/** @param {string} hash */
function linkOf(hash) {
  return {
    later: isFromLaterVersion(hash),
    read: formatSettings(parseSettings(hash)),
    corrected: correctedSettings(hash),
  };
}

/** Whether the page shows a link of a later version, whose settings it may not all know. */
export const isLinkFromLaterVersion = () => link.later && link.read === fragment;

/** What was put right in the link, as long as the settings are those that it led to. */
export const correctedInLink = () => (link.read === fragment ? link.corrected : []);

/** @typedef {keyof import('./properties.js').Settings} SettingName */

/** Browsers allow about 100 history changes in 30 seconds; typing would pass that. */
const urlDelay = 250;

/** Computed once for all its readers. */
const fragment = $derived(formatSettings(settings));

/** The settings as a fragment of the URL, without '#'. */
export const currentFragment = () => fragment;

/**
 * Keeps settings and URL the same; once a chapter has been chosen, the URL also says which is in view.
 * To be called while a component is being set up.
 */
export function mirrorSettingsInUrl() {
  const write = () => {
    // Such a link stays unchanged, for the later version to read.
    if (isLinkFromLaterVersion()) return;
    const next = place.isInHistory && place.chapter ? fragmentTo(place.chapter) : `#${fragment}`;
    if (next.slice(1) === location.hash.slice(1)) return;
    const url = next === '#' ? location.pathname + location.search : next;
    history.replaceState(history.state, '', url);
  };
  $effect(() => {
    void [fragment, place.chapter];
    const timer = setTimeout(write, urlDelay);
    return () => clearTimeout(timer);
  });
  $effect(() => {
    // Back and forward lead through the places where the reader was; the settings stay.
    const goBack = () => {
      if (!place.isInHistory) return;
      place.goBack();
      write();
    };
    const read = () => {
      if (place.isInHistory) return;
      link = linkOf(location.hash);
      Object.assign(settings, parseSettings(location.hash));
      place.follow(location.hash);
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
  return names.every((name) => JSON.stringify(settings[name]) === JSON.stringify(initial[name]));
}

/** @param {readonly SettingName[]} names */
export function reset(names) {
  for (const name of names) /** @type {any} */ (settings)[name] = initial[name];
}

/**
 * The fragment, with '#', of a link to the page as it is now.
 * @param {string} at the chapter to show first, or a figure of it: `chapter.figure`
 */
export const fragmentTo = (at) => `#${fragment}${fragment && '&'}at=${at}`;

/** The link itself. @param {string} at */
export const linkTo = (at) => location.href.replace(/#.*|$/, fragmentTo(at));
