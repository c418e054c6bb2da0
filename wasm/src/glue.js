// What Emscripten's glue goes without.

/* global addToLibrary, ___trap */
/* eslint no-unused-vars: off -- functions have as many parameters as those that they stand for */

addToLibrary({
  // Embind makes every type known that C++ could pass, each with the code that converts it. The
  // bindings tell numbers, which are doubles; what they come to tell besides needs its type back.
  _embind_register_void: (type, name) => {},
  _embind_register_bool: (type, name, yes, no) => {},
  _embind_register_integer: (type, name, size, least, most) => {},
  _embind_register_bigint: (type, name, size, least, most) => {},
  _embind_register_std_string: (type, name) => {},
  _embind_register_std_wstring: (type, size, name) => {},
  _embind_register_emval: (type) => {},
  // What double needs, and Embind says of other types only.
  _embind_register_emval__deps: ['$GenericWireTypeSize'],
  _embind_register_memory_view: (type, index, name) => {},

  // There is no environment: ENOSYS.
  environ_sizes_get: (count, size) => 52,
  environ_get: (environment, texts) => 52,

  // What stops the core is an error of WebAssembly's, as a trap is.
  _abort_js: () => ___trap(),
  _abort_js__deps: ['__trap'],
});
