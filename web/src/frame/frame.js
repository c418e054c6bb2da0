/**
 * Optional properties that a chapter passes to a figure's frame, besides the tensors to draw: where
 * its numbers come from, how to export them, and the controls that change them.
 * @typedef {Partial<Pick<import('svelte').ComponentProps<typeof import('./Figure.svelte').default>,
 *   'id' | 'title' | 'work' | 'follows' | 'uses' | 'exports' | 'code' |
 *   'controls'>>} Frame
 */

/**
 * Programs for a picture by language.
 * @typedef {Partial<Record<'python' | 'cpp' | 'javascript', string>>} Programs
 */

/**
 * Programs with the current values, from a module that is fetched on demand. If there are several
 * variants, `which` names them.
 * @typedef {{ load: () => Promise<any>, of: (module: any, which: number) => Programs, which?:
 *   readonly string[] }} Code
 *
 * Like `Code`, for a figure that chooses the variant by number.
 * @typedef {{ load: () => Promise<any>, of: (module: any, at: number) => Programs }} CodeAt
 */

export {};
