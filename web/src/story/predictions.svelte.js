import { SvelteMap } from 'svelte/reactivity';

/**
 * The reader's guesses by question name, kept while the page is open.
 * @type {SvelteMap<string, string>}
 */
export const predictions = new SvelteMap();
