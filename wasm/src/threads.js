// Runs before Emscripten's JavaScript if the variant has threads. The threads run in workers that
// the loader creates.

/* global Module */
/* eslint no-unused-vars: off */

const Worker = Module['Worker'];
// Emscripten's JavaScript reads the number of processors from navigator, which Node 20 lacks.
const navigator = globalThis.navigator ?? { hardwareConcurrency: Module['poolSize'] + 1 };
