/**
 * Optional properties that a chapter passes to a figure's frame, besides the tensors to draw: where
 * its numbers come from, how to export them, and the controls that change them.
 * @typedef {Partial<Pick<import('svelte').ComponentProps<typeof import('./Figure.svelte').default>,
 *   'id' | 'title' | 'work' | 'follows' | 'uses' | 'exports' | 'code' |
 *   'controls' | 'whileDrawn'>>} Frame
 */

export {};
