import { place } from './place.svelte.js';
import { initial } from './properties.js';
import {
  correctedSettings,
  formatSettings,
  isFromLaterVersion,
  parseSettings,
  version,
} from './url.js';

/** The settings of the page: the one state object, mirrored in the URL. */
export const settings = $state(parseSettings(location.hash));

/** Whether the page was opened without settings: by itself, or at a place of its own. */
export const opened = /^(?:#(?:at=[^&]*)?)?$/.test(location.hash);

/** What the page begins with: the initial settings, until it has others. @type {typeof initial} */
let beginning = $state.raw(initial);

/** The settings that a reset brings back. */
export const start = () => beginning;

/** Lets a reset bring back other settings from now on. @param {Partial<typeof initial>} changes */
export function startFrom(changes) {
  beginning = { ...beginning, ...changes };
}

/** The same without a link. */
let home = initial;

/** Lets the page begin with other settings from now on. @param {Partial<typeof initial>} changes */
export function beginWith(changes) {
  startFrom(changes);
  home = beginning;
  Object.assign(settings, changes);
}

/**
 * The link that was followed: whether a later version of the page made it, which settings it had, which
 * of them had to be put right, and the place that it led to, until the reader goes on from there.
 */
let link = $state.raw(linkOf(location.hash));

let followed = $state(0);

/** Number of links that were followed on the open page. */
export const linksFollowed = () => followed;

/** @param {string} hash */
function linkOf(hash) {
  return {
    later: isFromLaterVersion(hash),
    read: formatSettings(parseSettings(hash)),
    at: new URLSearchParams(hash.slice(1)).get('at'),
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
const carriedDelay = 1000;

/** Computed once for all its readers. */
const fragment = $derived(formatSettings(settings));

/** What links say instead of the settings, where something goes on. @type {Partial<typeof initial>} */
let carried = $state.raw({});

/** Lets links say something else than the settings. @param {Partial<typeof initial>} changes */
export function carry(changes) {
  carried = changes;
}

/** The settings in links. */
const linked = $derived(formatSettings({ ...settings, ...carried }));

/** The same in the address: clean with the settings that the page begins with. */
const address = $derived.by(() => {
  if (beginning === initial) return linked;
  if (linked === formatSettings(beginning)) return '';
  return linked || `v=${version}&weights=${initial.weights}`;
});

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
    if (link.at && !place.isGoing && place.chapter !== link.at.split('.')[0]) {
      link = { ...link, at: null };
    }
    const at = (place.isInHistory && place.chapter) || link.at;
    const next = at ? fragmentTo(at) : `#${address}`;
    if (next.slice(1) === location.hash.slice(1)) return;
    const url = next === '#' ? location.pathname + location.search : next;
    history.replaceState(history.state, '', url);
  };
  $effect(() => {
    // `write()` uses both: they don't always change together.
    void [address, fragment, place.chapter];
    const timer = setTimeout(write, urlDelay);
    return () => clearTimeout(timer);
  });
  // What goes on never pauses.
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
    // Back and forward lead through the places where the reader was; the settings stay.
    const goBack = () => {
      if (!place.isInHistory) return;
      place.goBack();
      write();
    };
    const read = (/** @type {HashChangeEvent} */ { newURL }) => {
      if (place.isInHistory) return;
      // The address itself may have been written over since.
      const hash = newURL.replace(/^[^#]*/, '');
      link = linkOf(hash);
      followed++;
      beginning = hash.length > 1 ? initial : home;
      Object.assign(settings, hash.length > 1 ? parseSettings(hash) : beginning);
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
 * The fragment, with '#', of a link to the page as it is now.
 * @param {string} at the chapter to show first, or a figure of it: `chapter.figure`
 */
export const fragmentTo = (at) => `#${linked}${linked && '&'}at=${at}`;

/** The link itself. @param {string} at */
export const linkTo = (at) => location.href.replace(/#.*|$/, fragmentTo(at));
