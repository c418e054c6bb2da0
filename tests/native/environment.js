// @ts-nocheck: Emscripten includes this file in its output.
// Gives a WebAssembly test program the environment variables of the process, and makes the folder
// of GoogleTest's report available to it.
/* global Module, ENV, FS, NODEFS */
Module.preRun = () => {
  Object.assign(ENV, process.env);
  const { ATTN_TEST_REPORTS: reports, GTEST_OUTPUT } = process.env;
  if (!reports || !GTEST_OUTPUT) return;
  FS.mkdirTree(reports);
  FS.mount(NODEFS, { root: reports }, reports);
};
