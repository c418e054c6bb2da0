// @ts-nocheck: becomes part of what Emscripten writes.
// Gives a WebAssembly test program the environment variables of the process, and GoogleTest's the folder
// into which it is told to write its report.
/* global Module, ENV, FS, NODEFS */
Module.preRun = () => {
  Object.assign(ENV, process.env);
  const { ATTN_TEST_REPORTS: reports, GTEST_OUTPUT } = process.env;
  if (!reports || !GTEST_OUTPUT) return;
  FS.mkdirTree(reports);
  FS.mount(NODEFS, { root: reports }, reports);
};
