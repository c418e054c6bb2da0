// @ts-nocheck: becomes part of what Emscripten writes.
// Gives the WebAssembly test program the environment variables of the process.
/* global Module, ENV */
Module.preRun = () => Object.assign(ENV, process.env);
