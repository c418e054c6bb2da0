// Runs before the glue of a variant with threads. The threads use the workers that the loader makes.

/* global Module */
/* eslint no-unused-vars: off */

const Worker = Module['Worker'];
// The glue reads the number of processors from navigator, which Node 20 lacks.
const navigator = globalThis.navigator ?? { hardwareConcurrency: Module['poolSize'] + 1 };
