// @ts-nocheck: becomes part of what Emscripten writes.
// Gives the WebAssembly test program the environment variables of the process, and the folder into
// which GoogleTest writes its report.
/* global Module, ENV, FS, NODEFS */
Module.preRun = () => {
  Object.assign(ENV, process.env);
  const reports = process.env.ATTN_TEST_REPORTS;
  if (!reports) return;
  FS.mkdirTree(reports);
  FS.mount(NODEFS, { root: reports }, reports);
};
