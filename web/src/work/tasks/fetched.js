/** Returns the addresses of the files that the worker has fetched. The page cannot see them. */
export const fetchedTask = {
  name: /** @type {const} */ ('fetched'),
  reads: [],
  /** @returns {Promise<string[]>} */
  run: () => Promise.resolve(performance.getEntriesByType('resource').map(({ name }) => name)),
};
