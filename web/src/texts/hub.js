/** Texts about opening a model by its name on a hub. `hub` is the hub's host. */

/** @param {string} id */
const convert = (id) => `from transformers import AutoModelForCausalLM, AutoTokenizer
AutoModelForCausalLM.from_pretrained("${id}").save_pretrained("converted")
AutoTokenizer.from_pretrained("${id}").save_pretrained("converted")`;

/** @param {string} id */
const download = (id) =>
  `download the files with "hf download ${id} --local-dir folder" and choose the folder here`;

/** A file size with its unit. @param {number} bytes */
export function sizeOf(bytes) {
  const [size, unit] =
    bytes < 1e5 ? [bytes / 1e3, 'kB'] : bytes < 1e9 ? [bytes / 1e6, 'MB'] : [bytes / 1e9, 'GB'];
  const digits = size >= 10 || unit === 'kB' ? 0 : unit === 'MB' ? 1 : 2;
  return `${size < 1 && unit === 'kB' ? '< 1' : size.toFixed(digits)}\u00a0${unit}`;
}

export const byName = {
  title: 'Or open a model by its name',
  field: (/** @type {string} */ hub) => `Name of a model on ${hub}`,
  example: 'owner/model',
  ask: 'List its files',
  asking: (/** @type {string} */ hub) => `Asking ${hub} for the list of files …`,
  privacy: (/** @type {string} */ hub) =>
    `The page then asks ${hub} for the list of files, and you decide whether to fetch them. Besides the model’s name, a request reveals only your IP address, your browser and the site that you are on. It contains no cookies and none of your text.`,
  /** @param {{ id: string, hub: string, revision: string }} given */
  will: ({ id, hub, revision }) =>
    `These files of ${id} would be fetched from ${hub} and its download servers (revision ${revision.slice(0, 8)}):`,
  fetch: (/** @type {number} */ bytes) => `Fetch ${sizeOf(bytes)}`,
  /** @param {number} have @param {number} all */
  rest: (have, all) => (have < all ? `Fetch the remaining ${sizeOf(all - have)}` : 'Open'),
  keep: 'Keep the files in this browser, for use without a network',
  noRoom: (/** @type {number} */ free) =>
    `This browser has only ${sizeOf(free)} left for this page, so the files cannot be kept.`,
  noSpace:
    'The browser has no room to keep all files of this model. The page fetches the rest without keeping it. To make room, delete kept models.',
  notStored:
    'The browser could not store the files of this model. The page fetches the rest without keeping it.',
  checking: 'Checking whether the page supports the model …',
  progress: (/** @type {number} */ done, /** @type {number} */ all) =>
    `${sizeOf(done)} of ${sizeOf(all)}`,
  fetching: 'how much of the files has been fetched',
  waiting: (/** @type {number} */ seconds) =>
    `The connection was lost. The page tries again in ${seconds} s.`,
  inUse: 'Another tab is fetching this model. This tab continues when the other tab stops.',
  cancel: 'Cancel',
  kept: 'Kept in this browser:',
  /** @param {number} have @param {number} all */
  part: (have, all) => (have < all ? `${sizeOf(have)} of ${sizeOf(all)}` : sizeOf(all)),
  open: 'Open',
  resume: 'Continue',
  remove: 'Delete',
};

/** Why a model cannot be opened by name. Each text is a sentence, without its full stop. */
export const reasons = {
  noName: (/** @type {string} */ hub) =>
    `Type a name such as openai-community/gpt2, as in the address of the model’s page on ${hub}`,
  otherHub: (/** @type {string} */ hub) =>
    `This page opens models only from ${hub}. Type the name of a model there, or download the files and choose them here`,
  unknown: (/** @type {string} */ id, /** @type {string} */ hub) =>
    `${hub} has no public model named ${id}. Check the spelling. If the model is private, ${download(id)}`,
  gated: (/** @type {string} */ id, /** @type {string} */ hub) =>
    `The owner of ${id} gives the files only to people who have signed in to ${hub} and accepted the model’s terms. This page sends no passwords. Accept the terms on ${hub}, ${download(id)}`,
  busy: (/** @type {string} */ hub) =>
    `${hub} has received too many requests from your network. Wait five minutes and try again`,
  status: (/** @type {number} */ status, /** @type {string} */ host) =>
    `${host} answered with error ${status}. Try again later`,
  offline: 'You are offline. Connect to a network and try again',
  /** @param {string} hub */
  unreachable: (hub) =>
    `${hub}, or the server that it redirected to, could not be reached. Check your connection and whether your network or an extension blocks the server, and try again`,
  forbidden: (/** @type {string} */ id, /** @type {string} */ hub) =>
    `${hub} redirected to a server that this page is not allowed to contact. Instead, ${download(id)}`,
  cutOff: (/** @type {string} */ file) =>
    `The connection was lost several times while ${file} was fetched. Try again: the page continues where it stopped`,
  noList: (/** @type {string} */ hub) =>
    `${hub} answered, but without a list of files that this page understands. Download the files and choose them here`,
  noConfig: (/** @type {string} */ id) =>
    `${id} has no config.json, which says how the model is built. Look for a version of the model that was published for Transformers`,
  noWeights: (/** @type {string} */ id) =>
    `${id} has no .safetensors file. If it has other weights, this Python code fetches and converts them; then choose the folder "converted" here. For BERT, use AutoModelForMaskedLM, and for T5 or Marian, AutoModelForSeq2SeqLM\n\n${convert(id)}`,
  severalWeights: (/** @type {string} */ id, /** @type {string[]} */ names) =>
    `${id} has several .safetensors files (${names.slice(0, 3).join(', ')}${names.length > 3 ? ', …' : ''}) and no list that says which belong together. Download the files that you want and choose them here`,
  noTokenizer: (/** @type {string} */ id) =>
    `${id} has no tokenizer.json, so the page cannot split a sentence into its tokens. This Python code fetches the model and converts its tokenizer; then choose the folder "converted" here. For T5, use AutoModelForSeq2SeqLM. For Marian, look for a copy of the model that has tokenizer.json, because Transformers cannot convert its tokenizer\n\n${convert(id)}`,
  missing: (/** @type {string} */ file, /** @type {string} */ hub) =>
    `${hub} no longer has the file ${file} of this revision. List the model’s files again`,
  changed: (/** @type {string} */ file) =>
    `${file} changed on the server while it was being fetched. The page has deleted what it had, so that two versions are not mixed. List the model’s files again`,
  damaged: (/** @type {string} */ file) =>
    `${file} is damaged: its SHA-256 hash differs from the hash in the list of files. The page has deleted what it had. List the model’s files again`,
  noRanges: (/** @type {string} */ file) =>
    `The server cannot continue the download of ${file}. The page has deleted what it had. List the model’s files again`,
  /** @param {string} id @param {number} size */
  tooLarge: (id, size) =>
    `The files of ${id} take ${sizeOf(size)}, which is more than a page can open. Choose a smaller model`,
};
