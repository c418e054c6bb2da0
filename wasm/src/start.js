// In front of the glue.

/* global Module, ready, readyPromiseResolve, wasmMemory */
/* eslint no-global-assign: off, no-unused-vars: off */

// The loader makes the instance, so that it hears of what is in the way: this runtime would not tell.
const WebAssembly = {
  instantiate: (_, imports) => Module['instantiate'](imports),
  Memory: globalThis.WebAssembly.Memory,
};

ready = () => {
  Module['wasmMemory'] = wasmMemory;
  readyPromiseResolve(Module);
};
