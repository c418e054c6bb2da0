/** The texts of matrices drawn as colours. The custom elements contain them, too. */

export const heatmap = 'heatmap';
/** How to select a cell, by touch and otherwise. */
export const how = {
  touch: 'Slide a finger over the cells to read them; tap a cell to lock it.',
  point: 'Point at a cell, or focus the map and use the arrow keys; click to lock.',
};
export const unlock = 'unlock';
/** For a picture that cannot show every cell. */
export const strongest =
  'There are more weights than pixels, so each dot shows the strongest weight of its group.';
