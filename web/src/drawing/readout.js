import { getContext, setContext } from 'svelte';

const key = Symbol('readout');

/** Sets the id of the readout that describes the matrices inside a component. @param {string} id */
export const setReadoutId = (id) => void setContext(key, id);

/** The id set around a component. Without one, pass ids as properties. @returns {string} */
export const readoutId = () => getContext(key);
