/** Text shown in the frame around each figure. */
export const frame = {
  /** @param {string} title */
  link: (title) => `Link to ${title}`,
  /** @param {string} title */
  reset: (title) => `Reset ${title}`,
  resetTitle: 'Reset this figure',
  /** @param {string} title */
  code: (title) => `Code for ${title}`,
  codeTitle: 'Code for this picture',
  /** @param {string} title */
  export: (title) => `Export ${title}`,
  exportTitle: 'Export',
  linkTitle: 'Link and embed',
  copyLink: 'Copy link',
  copyEmbedCode: 'Copy embed code',
  /** @param {string} title */
  present: (title) => `Present ${title}`,
  presentTitle: 'Present this figure',
  noProgram: 'the program could not be loaded; try again',
  equation: 'Equation',
};

/** The menu that saves pictures and numbers. */
export const exporting = {
  picture: 'picture',
  /** @param {string} panel */
  only: (panel) => `only the ${panel}`,
  /** @param {string} part */
  partOf: (part) => `Picture of ${part}`,
  partTitle: 'Save only this picture, for a slide',
  looks: {
    paper: 'background',
    caption: 'title and source',
    wide: '16:9',
    editable: 'editable text in SVG',
  },
};

/** Text of the buttons that save a figure, or the whole page, as an HTML file. */
export const saving = {
  figure: 'Save as a page',
  figureNote: 'one HTML file',
  figureTitle: 'One file with this figure alone. It stays interactive and needs no network.',
  page: 'Save as one file (4 MB)',
  coming: 'Preparing the file …',
  withoutOwn: 'A saved page cannot contain your model. Choose other projections and save again.',
  noTemplate:
    'This server lacks the file that saved pages are made from. If it is your server, run “npm run build” and serve web/dist.',
  /** @param {string} part */
  lacks: (part) => `this page was saved without ${part}`,
};

/** The panel with a figure's program. */
export const code = {
  /** @param {string} figure */
  of: (figure) => `Code of ${figure}`,
  language: 'language',
  variants: 'program of',
  copy: 'copy',
  copied: 'copied',
  close: 'close',
  /** How to get the libraries that a program needs. */
  needs: {
    python: 'pip install torch',
    cpp: 'find_package(attn), and link attn::attn',
    javascript: 'npm install attn',
  },
  /** @param {string} what */
  needed: (what) => `Needs \`${what}\`.`,
  readsModel: 'It reads the language model: {file} (2 MB).',
  /** @param {string} keys */
  selected: (keys) => `selected; to copy it, press ${keys}`,
};

/** Offers the language model where a part of a chapter needs it. */
export const whenLearned = {
  use: 'Use learned projections',
  loaded: 'already loaded',
  offer: '{use} ({size}).',
};

/** A measurement in the reader's browser. */
export const run = {
  run: 'Run',
  again: 'Run again',
  stop: 'Stop',
  measuring: 'Measuring …',
  /** @param {string} button */
  nothing: (button) => `Nothing measured yet: press ${button} above`,
  measured: 'Measured.',
  stopped: 'Stopped. Earlier results are kept.',
  progress: 'Progress of the measurement',
};

/** The parts around a chapter's text. */
export const story = {
  more: 'More',
  before: 'Before you look',
  right: 'Right',
  theAnswer: 'The answer',
  wrong: 'Not so',
  sources: 'Sources',
  /** @param {string} name name of a class or function in PyTorch */
  code: (name) => `PyTorch: \`${name}\``,
  takeaway: 'To take away',
};
