import { getContext, setContext } from 'svelte';

/** @typedef {import('../texts/sources.js').SourceName[]} SourceNames */

const key = Symbol('sources of the chapter');

/**
 * Sets the reactive list to which the passages of a chapter add their sources.
 * @param {SourceNames} sources
 */
export const setChapterSources = (sources) => void setContext(key, sources);

/** Returns the list of the enclosing chapter. @returns {SourceNames | undefined} */
export const chapterSources = () => getContext(key);
