declare module 'virtual:outlines' {
  interface Face {
    family: string;
    italic: boolean;
    /** The lightest and the heaviest weight, which may be the same. */
    weights: [number, number];
    /**
     * For each of these weights, the outlines by character or by the characters of a ligature, as
     * SVG path data with 1000 units per em and y downwards.
     */
    glyphs: Record<string, string>[];
  }
  export const faces: Face[];
}
