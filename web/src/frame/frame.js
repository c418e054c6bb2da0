/**
 * What a chapter may give to a figure's frame, besides the tensors that the figure draws: where its
 * numbers come from, how to export them, and the controls that change them.
 *
 * @typedef {Partial<Pick<import('svelte').ComponentProps<typeof import('./Figure.svelte').default>,
 *   'id' | 'title' | 'milliseconds' | 'work' | 'follows' | 'uses' | 'exports' | 'code' | 'controls'>>} Frame
 */

/** A program for a picture, in the languages that it is written in. @typedef {Partial<Record<'python' | 'cpp' | 'javascript', string>>} Programs */

/**
 * Programs with the current values, of a module that is fetched when somebody asks to see them; where there
 * are programs of several things, of that one of `which`.
 * @typedef {{ load: () => Promise<any>, of: (module: any, which: number) => Programs, which?: readonly string[] }} Code
 *
 * The same where a figure knows at which number.
 * @typedef {{ load: () => Promise<any>, of: (module: any, at: number) => Programs }} CodeAt
 */

export {};
