// What of Emscripten's glue is another here, and what threads need.

/* global addToLibrary, Module, wasmMemory, ___trap, __emscripten_wasm_worker_initialize */

addToLibrary({
  // The bindings tell JavaScript numbers only, which are doubles and mean the same there. So nothing of
  // what Embind knows about types is needed; what the bindings come to tell besides needs it back.
  _embind_register_constant: (name, type, value) => {
    const bytes = new Uint8Array(wasmMemory.buffer);
    let text = '';
    while (bytes[name]) text += String.fromCharCode(bytes[name++]);
    Module[text] = value;
  },
  _embind_register_constant__deps: [],

  // Tries a fifth more memory than there was, up to 64 MB more than needed, and then what is needed.
  emscripten_resize_heap: (needed) => {
    const size = wasmMemory.buffer.byteLength;
    const roomy = Math.max(needed, Math.min(1.2 * size, needed + 2 ** 26));
    for (const wanted of [roomy, needed]) {
      try {
        wasmMemory.grow(Math.ceil((wanted - size) / 65536));
        return true;
      } catch {
        // There is not so much.
      }
    }
    return false;
  },
  emscripten_resize_heap__deps: [],

  // What stops the core is an error of WebAssembly's, as a trap is.
  _abort_js: () => ___trap(),
  _abort_js__deps: ['__trap'],

  // What a worker needs to become a thread; thread.js gets it.
  attn_start_thread: (stack, stackBytes, run, argument) =>
    Module['startThread']({ mem: wasmMemory, $ww: 1, stack, stackBytes, run, argument }),
  $_wasmWorkerInitializeRuntime: () =>
    __emscripten_wasm_worker_initialize(Module['stack'], Module['stackBytes']),
  $_wasmWorkerInitializeRuntime__deps: ['_emscripten_wasm_worker_initialize'],
});
