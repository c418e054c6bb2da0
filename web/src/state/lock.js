import { settings } from './settings.svelte.js';

/** @typedef {import('./properties/index.js').Settings} Settings */

/**
 * The settings that store a locked cell.
 * @typedef {{ [Name in keyof Settings]:
 *   import('../drawing/selection.svelte.js').Cell extends Settings[Name] ? Name : never
 * }[keyof Settings]} CellSetting
 */

/**
 * Stores the locked cell of a selection in a setting, so that links, undo and redo include it.
 * @template {CellSetting | 'blockCell' | 'stageCell' | 'bytesCell'} Name
 * @param {Name} setting
 */
export const lockIn = (setting) => ({
  get cell() {
    return settings[setting];
  },
  set cell(cell) {
    settings[setting] = cell;
  },
});
