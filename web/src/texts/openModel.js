/** Why the single file opens no models by name. */
export const singleFile =
  'This page is a single file, which makes no requests. To open a model by its name, use the page on a web server.';

/** The dialog that opens a model from the reader's files. */
export const dialog = {
  title: 'Your own model',
  close: 'close',
  choose:
    'Choose the model’s `.safetensors` files, `config.json` and `tokenizer.json`, or the folder that contains them. Supported models: GPT-2, GPT-Neo (TinyStories), GPT-NeoX (Pythia), OPT, BERT and related models, Llama, SmolLM, Mistral, Qwen 2 and 3, Gemma, OLMo 2; and with an encoder and a decoder: T5, mT5, Marian (Opus-MT).',
  stays:
    'Files that you choose stay on this machine. Your browser reads them in slices, and links to this page do not contain them. A reload restores the page’s own model.',
  files: 'Choose files',
  folder: 'Choose a folder',
  drop: 'or drop them anywhere on the page',
  dropHere: 'Drop a model here',
  dropStays: 'The model stays on this machine.',
  reading: 'how much of the files has been read',
  cancel: 'Cancel',
  closeModel: 'Close it',
  byName: 'The part of the page that opens models by name',
  noFiles:
    'There are no files in this folder. Browsers leave out symbolic links: to open a model from the cache of Hugging Face, choose its whole folder, models--….',
  /** @param {string} why */
  notLoaded: (why) => `The part of attn that reads models could not be loaded: ${why}.`,
  /** @param {string} why a sentence, perhaps without its full stop */
  notOpened: (why) => `The model could not be opened. ${why}${/[.!?]$|"\)$/.test(why) ? '' : '.'}`,
};
