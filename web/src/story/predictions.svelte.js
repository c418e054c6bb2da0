import { SvelteMap } from 'svelte/reactivity';

/**
 * What the reader has foretold, as long as the page is open: by the name of the question.
 * @type {SvelteMap<string, string>}
 */
export const predictions = new SvelteMap();
