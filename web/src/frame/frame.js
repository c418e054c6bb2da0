/**
 * What a chapter may give to a figure's frame, besides the tensors that the figure draws: where its
 * numbers come from, how to export them, and the controls that change them.
 *
 * @typedef {Partial<Pick<import('svelte').ComponentProps<typeof import('./Figure.svelte').default>,
 *   'id' | 'title' | 'milliseconds' | 'work' | 'follows' | 'uses' | 'exports' | 'code' | 'controls'>>} Frame
 */

export {};
