/** @typedef {import('../../invention/invention.js').Written} Written */
/** @typedef {import('attn').Tensor} Tensor */

/**
 * A scheme that the reader has written, and the sizes of the tables to compute: positions, columns
 * and heads.
 * @typedef {{ written: Written, tables?: { n: number, d: number, heads: number }[] }} Wanted
 *
 * The encoding and the bias for each size, or the measures if no sizes are given, or the problem
 * with the formulas.
 * @typedef {object} Found
 * @property {{ added: Tensor | null, bias: Tensor | null }[]} [tables]
 * @property {import('../../invention/inventMeasure.js').Measures} [measures]
 * @property {import('../../invention/formula.js').Problem} [problem]
 */

/** Computes the tables of a scheme that the reader has written, or measures it. */
export const inventTask = {
  name: /** @type {const} */ ('invent'),
  reads: [],
  /** @param {import('attn').Attn} attn @param {Wanted} wanted @returns {Promise<Found>} */
  async run(attn, { written, tables }) {
    const [{ Invention }, { FormulaError }, { measure }] = await Promise.all([
      import('../../invention/invention.js'),
      import('../../invention/formula.js'),
      import('../../invention/inventMeasure.js'),
    ]);
    try {
      const invention = new Invention(written);
      if (!tables) return { measures: measure(attn, invention) };
      return {
        tables: tables.map(({ n, d, heads }) => ({
          added: invention.added(n, d),
          bias: invention.bias(n, heads, d),
        })),
      };
    } catch (error) {
      if (error instanceof FormulaError) return { problem: error.problem };
      throw error;
    }
  },
};
