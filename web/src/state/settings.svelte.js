import { initial } from './properties.js';
import { formatSettings, parseSettings } from './url.js';

/** What the page is set to: the one state object, mirrored in the URL. */
export const settings = $state(parseSettings(location.hash));

/** @typedef {keyof import('./properties.js').Settings} SettingName */

/** Browsers allow about 100 history changes in 30 seconds; typing would pass that. */
const urlDelay = 250;

/** Keeps settings and URL the same. To be called while a component is being set up. */
export function mirrorSettingsInUrl() {
  $effect(() => {
    const fragment = formatSettings($state.snapshot(settings));
    const timer = setTimeout(() => {
      if (fragment === location.hash.slice(1)) return;
      history.replaceState(
        null,
        '',
        fragment ? `#${fragment}` : location.pathname + location.search,
      );
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
 * A link to the page as it is now.
 * @param {string} [id] of the chapter or figure to show first
 */
export function linkTo(id) {
  const parts = [formatSettings($state.snapshot(settings)), id ? `at=${id}` : ''];
  return `${location.href.replace(/#.*/, '')}#${parts.filter(Boolean).join('&')}`;
}
