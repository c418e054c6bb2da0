// Behind the glue of a variant with threads: a worker of this name becomes a thread.

/* global Module */

const { workerData, parentPort } =
  globalThis.process?.getBuiltinModule?.('node:worker_threads') ?? {};

if ((workerData ?? globalThis.name) === 'attn-thread') {
  const port = parentPort ?? globalThis;
  port.onmessage = ({ data }) => {
    // At once, so that what is thrown here reaches the loader.
    data.instantiate = (imports) => ({
      then: (receive) => receive(new WebAssembly.Instance(data.wasm, imports)),
    });
    Module(data);
    port.postMessage(null);
    data._attn_run_thread(data.run, data.argument);
  };
}
