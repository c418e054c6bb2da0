/** How the reader wants pictures to be drawn. All figures share these choices. */
export const look = $state({ paper: true, caption: true, wide: false, editable: false });

/** @type {Record<keyof typeof look, string>} */
export const lookTexts = {
  paper: 'background',
  caption: 'title and source',
  wide: '16:9',
  editable: 'SVG text stays text',
};
