/** Stroke paths of the icons in a box of 16 × 16. */
export const icons = {
  export: 'M8 2v8M4.8 7 8 10.2 11.2 7M2.5 11.5v2h11v-2',
  code: 'M5.5 4 2 8l3.5 4M10.5 4 14 8l-3.5 4',
  reset: 'M3.5 5.5A5.4 5.4 0 1 1 2.6 9M3.2 2v3.7h3.7',
  link: 'M6.5 9.5 9.5 6.5M7 4.6l1.6-1.6a2.9 2.9 0 0 1 4.1 4.1L11.1 8.7M9 11.4 7.4 13a2.9 2.9 0 0 1-4.1-4.1l1.6-1.6',
  undo: 'M6 3 2.5 6.5 6 10M2.5 6.5H10a3.5 3.5 0 0 1 0 7H7',
  redo: 'M10 3l3.5 3.5L10 10M13.5 6.5H6a3.5 3.5 0 0 0 0 7h3',
  contents: 'M2.5 4h11M2.5 8h11M2.5 12h7',
  settings:
    'M2 5h7M13 5h1M2 11h1M7 11h7M9 5a2 2 0 1 0 4 0a2 2 0 1 0-4 0M3 11a2 2 0 1 0 4 0a2 2 0 1 0-4 0',
  present: 'M2 3h12v8.5H2zM8 11.5V14M5 14h6',
  previous: 'M10 3 5 8l5 5',
  next: 'M6 3l5 5-5 5',
  close: 'M3.5 3.5l9 9M12.5 3.5l-9 9',
  done: 'M3 8.5 6.5 12 13 4.5',
};
