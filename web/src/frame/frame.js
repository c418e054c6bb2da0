/**
 * What whoever shows a figure may give to its frame, besides what the figure itself draws: where its
 * numbers come from, how to take them along, and the controls that change them.
 *
 * @typedef {Partial<Pick<import('svelte').ComponentProps<typeof import('./Figure.svelte').default>,
 *   'id' | 'title' | 'milliseconds' | 'work' | 'follows' | 'uses' | 'exports' | 'code' | 'controls'>>} Frame
 */

export {};
