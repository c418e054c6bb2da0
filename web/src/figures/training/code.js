/**
 * @param {import('../../model/training/lane.js').LaneOptions} options
 * @param {Int32Array} ids
 * @param {number} steps
 * @returns {Partial<Record<'python' | 'cpp' | 'javascript', string>>}
 */
export function trainingPrograms(options, ids, steps) {
  return { javascript: `// ${options.world}, ${ids.length}, ${steps}` };
}
