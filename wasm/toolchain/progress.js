// Shows the running steps of a command, with each step's progress and elapsed seconds. A terminal
// gets one line that is updated in place. Any other output, such as a pipe or a CI log, gets a line
// every ten seconds and a line when a step ends. Imports nothing, because it runs before
// node_modules exists.

const kTickMs = 1000;
const kTicksPerLine = 10;
const kEraseLine = '\r\x1b[K';
const kSeparator = ' | ';

/**
 * @typedef {object} Output
 * @property {boolean} [isTTY]
 * @property {number} [columns]
 * @property {(text: string) => unknown} write
 *
 * @typedef {(state: string) => void} Update  sets the progress of the step, as in "12/99" or "40 %"
 */

/** @param {Output} output */
export function progressOn(output) {
  /** @type {Set<{ name: string, state: string, start: number }>} */
  const running = new Set();
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  let ticks = 0;

  /**
   * Formats a step's name, state and elapsed seconds. If the text is too wide, the name is cut.
   * @param {{ name: string, state: string, start: number }} step
   * @param {number} [width]
   */
  function describe({ name, state, start }, width = Infinity) {
    const seconds = `${Math.floor((Date.now() - start) / 1000)} s`;
    const rest = state ? `, ${state}, ${seconds}` : `, ${seconds}`;
    return name.slice(0, Math.max(width - rest.length, 0)) + rest;
  }

  function draw() {
    if (!output.isTTY || running.size === 0) return;
    const columns = (output.columns || 80) - 1;
    const width = Math.floor(columns / running.size) - kSeparator.length;
    const line = [...running].map((step) => describe(step, width)).join(kSeparator);
    output.write(kEraseLine + line.slice(0, columns));
  }

  function tick() {
    draw();
    ticks += 1;
    if (output.isTTY || ticks % kTicksPerLine !== 0) return;
    for (const step of running) output.write(`${describe(step)}\n`);
  }

  /**
   * Prints a line above the line that is updated in place.
   * @param {string} message
   */
  function say(message) {
    output.write(`${output.isTTY ? kEraseLine : ''}${message}\n`);
    draw();
  }

  /**
   * Runs a step and shows its progress. Several steps may run at the same time.
   * @template T
   * @param {string} name  what the step does, as in "Installing npm packages"
   * @param {(update: Update) => T | Promise<T>} action
   * @returns {Promise<T>} the result of `action`
   */
  async function step(name, action) {
    const step = { name, state: '', start: Date.now() };
    const seconds = () => `${((Date.now() - step.start) / 1000).toFixed(1)} s`;
    if (running.size === 0) {
      ticks = 0;
      timer = setInterval(tick, kTickMs);
    }
    running.add(step);
    draw();
    let outcome = 'failed after';
    try {
      const result = await action((state) => {
        step.state = state;
        draw();
      });
      outcome = 'done in';
      return result;
    } finally {
      running.delete(step);
      if (running.size === 0) clearInterval(timer);
      say(`${name}: ${outcome} ${seconds()}`);
    }
  }

  return { step, say };
}

export const { step, say } = progressOn(process.stderr);
