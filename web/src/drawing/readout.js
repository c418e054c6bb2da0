import { getContext, setContext } from 'svelte';

const key = Symbol('readout');

/** Sets the id of the readout that describes the matrices inside a component. @param {string} id */
export const setReadoutId = (id) => void setContext(key, id);

/**
 * Returns the id that an enclosing component has set. Without such a component, pass ids as
 * properties instead.
 * @returns {string}
 */
export const readoutId = () => getContext(key);
