import { here } from './language.js';

/** Takes the reader's model into a worker of its own, and asks it for what only it can do. */
export const ownTask = {
  name: /** @type {const} */ ('own'),
  reads: [],
  /**
   * @param {import('attn').Attn} attn  loaded for models
   * @param {{ method: 'open', given: any } | { method: import('../own/own.svelte.js').Method, given: any }} asked
   */
  async run(attn, { method, given }) {
    if (method !== 'open') return /** @type {any} */ (here.own)[method](given);
    const { OwnModel } = await import('../own/ownServer.js');
    const opening = OwnModel.open(/** @type {import('attn').ModelsAttn} */ (attn), given);
    return (async function* () {
      const own = yield* opening;
      here.own = own;
      return own.facts;
    })();
  },
};
