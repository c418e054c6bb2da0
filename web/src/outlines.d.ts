declare module 'virtual:outlines' {
  interface Face {
    family: string;
    italic: boolean;
    /** The lightest and the heaviest, which may be the same. */
    weights: [number, number];
    /**
     * Of each of these weights the outlines by character, or by the characters of a ligature: data of SVG
     * paths, 1000 units per em, y downwards.
     */
    glyphs: Record<string, string>[];
  }
  export const faces: Face[];
}
