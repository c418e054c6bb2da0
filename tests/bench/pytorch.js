// PyTorch as a peer. It runs in a separate Python process that answers requests (pytorch.py).

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { SetupError } from '../../wasm/toolchain/system.js';

const kProgram = join(import.meta.dirname, 'pytorch.py');

/** Shortest run, in seconds, that is long enough to determine how many processors were busy. */
const kShortestJudgedSeconds = 0.02;

/** @param {Float32Array} x */
const encode = ({ buffer, byteOffset, byteLength }) =>
  Buffer.from(buffer, byteOffset, byteLength).toString('base64');

/** @param {string} text */
const decode = (text) => {
  const bytes = Buffer.from(text, 'base64');
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
};

export class PyTorch {
  /** @type {import('node:child_process').ChildProcessByStdio<import('node:stream').Writable, import('node:stream').Readable, null>} */
  #process;
  /** @type {AsyncIterator<string>} */
  #lines;
  version = '';
  /** False if this build of PyTorch has no fast path for bfloat16. */
  hasFastBFloat16 = true;

  /**
   * @param {string} command starts Python, for example "python3"; may start Python in a container
   */
  static async start(command) {
    const peer = new PyTorch(command);
    return Object.assign(peer, await peer.#read());
  }

  /** @param {string} command */
  constructor(command) {
    const [program, ...args] = command.split(' ');
    // Passes the program itself rather than its path, because paths are different inside a
    // container.
    const source = readFileSync(kProgram, 'utf8');
    this.#process = spawn(program, [...args, '-c', source], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#process.on('error', () => {});
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
    this.command = command;
  }

  /** @returns {Promise<any>} */
  async #read() {
    const { value, done } = await this.#lines.next();
    if (done)
      throw new SetupError(
        `"${this.command}" ended unexpectedly. Check that its Python has the package torch.`,
      );
    return JSON.parse(value);
  }

  /** @param {object} request */
  async #ask(request) {
    this.#process.stdin.write(`${JSON.stringify(request)}\n`);
    return this.#read();
  }

  /**
   * @param {object} work  kind and shape of the workload
   * @param {number} threads
   * @param {Record<string, Float32Array>} [inputs]
   */
  async solver(work, threads, inputs = {}) {
    const arrays = Object.fromEntries(Object.entries(inputs).map(([k, x]) => [k, encode(x)]));
    const { id, size } = await this.#ask({ make: { ...work, ...arrays } });
    return {
      name: 'PyTorch',
      size: /** @type {number} */ (size),
      run: async (/** @type {number} */ repeats) => {
        const { seconds, processorSeconds } = await this.#ask({ run: id, repeats, threads });
        const busy = processorSeconds / seconds;
        if (seconds > kShortestJudgedSeconds && busy > threads + 0.25) {
          throw new SetupError(
            `--python: PyTorch was asked for ${threads} ${threads === 1 ? 'thread' : 'threads'} but kept ` +
              `${busy.toFixed(1)} processors busy, so its times are meaningless. Its OpenBLAS starts ` +
              'its own threads. Install the variant of OpenBLAS that uses OpenMP (on Debian ' +
              'libopenblas0-openmp).',
          );
        }
        return /** @type {number} */ (seconds);
      },
      output: async () => decode((await this.#ask({ output: id })).output),
      /** The gradients of q, k and v, concatenated. */
      gradients: async () => {
        const gradients = await this.#ask({ gradients: id });
        return Float32Array.from(['q', 'k', 'v'].flatMap((name) => [...decode(gradients[name])]));
      },
      dispose: () => this.#ask({ forget: id }),
    };
  }

  end() {
    this.#process.stdin.end();
  }
}
