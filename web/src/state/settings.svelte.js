import { initial } from './properties.js';
import { formatSettings, parseSettings } from './url.js';

/** What the page is set to: the one state object, mirrored in the URL. */
export const settings = $state(parseSettings(location.hash));

/** @typedef {keyof import('./properties.js').Settings} SettingName */

/** Browsers allow about 100 history changes in 30 seconds; typing would pass that. */
const urlDelay = 250;

/** Written once for all that follow it. */
const fragment = $derived(formatSettings(settings));

/** The settings as a fragment of the URL, without '#'. */
export const currentFragment = () => fragment;

/** Keeps settings and URL the same. To be called while a component is being set up. */
export function mirrorSettingsInUrl() {
  $effect(() => {
    const next = fragment;
    const timer = setTimeout(() => {
      if (next === location.hash.slice(1)) return;
      history.replaceState(null, '', next ? `#${next}` : location.pathname + location.search);
    }, urlDelay);
    return () => clearTimeout(timer);
  });
  $effect(() => {
    const read = () => Object.assign(settings, parseSettings(location.hash));
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
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
