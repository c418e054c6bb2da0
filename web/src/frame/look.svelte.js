/** How the reader wants pictures to be drawn. All figures share these choices. */
export const look = $state({ paper: true, caption: true, wide: false, editable: false });
