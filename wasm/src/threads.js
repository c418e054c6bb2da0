// Before the glue of a variant with threads: they run on the workers that the loader makes.

/* global Module */
/* eslint no-unused-vars: off */

const Worker = Module['Worker'];
// Node 20 has no navigator, which the glue asks for the number of processors.
const navigator = globalThis.navigator ?? { hardwareConcurrency: Module['poolSize'] + 1 };
