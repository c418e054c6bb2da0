/** Addresses of the files that the worker has fetched, which the page cannot see. */
export const fetchedTask = {
  name: /** @type {const} */ ('fetched'),
  reads: [],
  /** @returns {Promise<string[]>} */
  run: () => Promise.resolve(performance.getEntriesByType('resource').map(({ name }) => name)),
};
