// Before the glue of a variant with threads: they run on the workers that the loader makes.

/* global Module */
/* eslint no-unused-vars: off */

const Worker = Module['Worker'];
