import { here } from './here.js';

/** Opens the reader's model in a separate worker and calls its methods. */
export const ownTask = {
  name: /** @type {const} */ ('own'),
  reads: [],
  /**
   * @param {import('attn').Attn} attn  a module loaded with support for models
   * @param {{ method: 'open', given: any } | { method: import('../../models/own/own.svelte.js').Method,
   *   given: any }} asked
   */
  async run(attn, { method, given }) {
    if (method !== 'open') return /** @type {any} */ (here.own)[method](given);
    const { OwnModel } = await import('../../models/own/ownServer.js');
    const opening = OwnModel.open(/** @type {import('attn').ModelsAttn} */ (attn), given);
    return (async function* () {
      const own = yield* opening;
      here.own = own;
      return own.facts;
    })();
  },
};
