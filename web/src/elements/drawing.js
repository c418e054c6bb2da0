/**
 * The properties of an element's drawing.
 * @template {(given: any) => any} Read
 * @typedef {object} DrawingOf
 * @property {string} id
 * @property {ReturnType<Read>} shown
 * @property {Record<string, any>} given the element's properties
 * @property {import('../drawing/themedScales.js').ThemeName} theme
 * @property {import('../drawing/selection.svelte.js').Selection} selection
 * @property {(detail: any) => void} select reports the selected part
 * @property {(name: string, value: unknown) => void} set
 * @property {(type: string, detail: unknown) => void} dispatch
 */

export {};
