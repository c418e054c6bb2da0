import { createContext } from 'svelte';

/**
 * Data that a figure passes to parts that can be saved separately.
 * @typedef {{ about: () => Omit<import('./picture.js').About, 'description'>, link: ()
 *   => string, tell: (notice: string) => void }} Around
 */

const context = /** @type {ReturnType<typeof createContext<Around>>} */ (createContext());
export const [figureAround, standAround] = context;
