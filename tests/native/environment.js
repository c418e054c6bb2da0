// Gives the WebAssembly test program the environment variables of the process.
/* global Module, ENV */
Module.preRun = () => Object.assign(ENV, process.env);
