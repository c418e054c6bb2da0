import { createContext } from 'svelte';

/**
 * What a figure tells its parts, which are saved as pictures of their own.
 * @typedef {{ about: () => Omit<import('./picture.js').About, 'description' | 'paper'>, link: () => string, tell: (notice: string) => void }} Around
 */

const context = /** @type {ReturnType<typeof createContext<Around>>} */ (createContext());
export const [figureAround, standAround] = context;
