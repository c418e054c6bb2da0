import { getContext, setContext } from 'svelte';

const key = Symbol('readout');

/** Sets the id of the readout that describes the matrices inside a component. @param {string} id */
export const setReadoutId = (id) => void setContext(key, id);

/**
 * The id that a component around this one has set. If there is none, pass ids as properties.
 * @returns {string}
 */
export const readoutId = () => getContext(key);
