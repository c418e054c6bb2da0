// Runs the program of the variant that this worker's address names, and posts the lines that the
// program prints.

const variant = location.search.slice(1);

/** @param {string} [line]  omitted after the last line */
const post = (line) => postMessage({ line });

try {
  const { default: start } = await import(`./${variant}.js`);
  await start({ print: post, printErr: post });
} catch (error) {
  post(`could not run: ${error instanceof Error ? error.message : error}`);
}
post();

export {};
