// What Emscripten's glue goes without.

/* global addToLibrary, AsciiToString, Module, updateMemoryViews, wasmMemory, ___trap */
/* eslint no-unused-vars: off -- functions have as many parameters as those that they stand for */

addToLibrary({
  // The bindings tell JavaScript numbers only, which are doubles and mean the same there. So nothing of
  // what Embind knows about types is needed; what the bindings come to tell besides needs it back.
  _embind_register_constant: (name, type, value) => {
    Module[AsciiToString(name)] = value;
  },
  _embind_register_constant__deps: ['$AsciiToString'],
  _embind_register_void: (type, name) => {},
  _embind_register_void__deps: [],
  _embind_register_bool: '_embind_register_void',
  _embind_register_bool__deps: [],
  _embind_register_integer: '_embind_register_void',
  _embind_register_integer__deps: [],
  _embind_register_bigint: '_embind_register_void',
  _embind_register_bigint__deps: [],
  _embind_register_float: '_embind_register_void',
  _embind_register_float__deps: [],
  _embind_register_std_string: '_embind_register_void',
  _embind_register_std_string__deps: [],
  _embind_register_std_wstring: '_embind_register_void',
  _embind_register_std_wstring__deps: [],
  _embind_register_emval: '_embind_register_void',
  _embind_register_emval__deps: [],
  _embind_register_memory_view: '_embind_register_void',
  _embind_register_memory_view__deps: [],

  // There is no environment: ENOSYS.
  environ_sizes_get: (count, size) => 52,
  environ_sizes_get__deps: [],
  environ_get: 'environ_sizes_get',
  environ_get__deps: [],

  // Tries a fifth more memory than there was, up to 64 MB more than needed, and then what is needed.
  emscripten_resize_heap: (needed) => {
    const size = wasmMemory.buffer.byteLength;
    const roomy = Math.max(needed, Math.min(1.2 * size, needed + 2 ** 26));
    for (const wanted of [roomy, needed]) {
      try {
        wasmMemory.grow(Math.ceil((wanted - size) / 65536));
        updateMemoryViews();
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
});
