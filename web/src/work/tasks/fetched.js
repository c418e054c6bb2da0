/**
 * Returns the addresses of the files that the worker has fetched. The page itself cannot see a
 * worker's requests.
 */
export const fetchedTask = {
  name: /** @type {const} */ ('fetched'),
  reads: [],
  /** @returns {Promise<string[]>} */
  run: () => Promise.resolve(performance.getEntriesByType('resource').map(({ name }) => name)),
};
