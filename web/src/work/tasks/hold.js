/** Holds a lock for as long as the worker lives, so that the page notices when the worker ends. */
export const holdTask = {
  name: /** @type {const} */ ('hold'),
  reads: [],
  /**
   * @param {import('attn').Attn} _
   * @param {string} lock
   * @returns {Promise<void>}
   */
  run: (_, lock) =>
    new Promise((held, failed) => {
      const holding = navigator.locks.request(lock, () => {
        held();
        return new Promise(() => {});
      });
      holding.catch(failed);
    }),
};
