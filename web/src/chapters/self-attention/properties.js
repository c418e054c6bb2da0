import { cell, choice } from '../../state/property.js';

/** The stages from the input of the layer to its output. */
export const stages = /** @type {const} */ ([
  'x',
  'q',
  'k',
  'v',
  'scores',
  'scaled',
  'masked',
  'weights',
  'head',
  'output',
]);

/** What this chapter adds to the page's settings. */
export const properties = {
  /** Locked cells: token and column of the input, query and key of the weights. */
  inputCell: cell(4096),
  weightCell: cell(4096),
  /** The stage that has a locked cell, and the cell. */
  stage: choice(/** @type {typeof stages[number]} */ ('weights'), stages),
  stageCell: cell(4096),
};
