// Recognises state dicts of torch.nn modules, and explains why they cannot read a sentence.

/** @typedef {Record<string, { dtype: string, shape: number[] }>} Tensors tensors by name */

/** Longest header to read, in bytes. */
const mostHeader = 100e6;

/**
 * The header of a .safetensors file, or undefined if the file is not one. If something is wrong
 * with a file, the loader reports it.
 * @param {File} file
 * @returns {Promise<Tensors | undefined>}
 */
export async function headerOf(file) {
  try {
    const start = new DataView(await file.slice(0, 8).arrayBuffer());
    const length = Number(start.getBigUint64(0, true));
    if (length > Math.min(mostHeader, file.size)) return undefined;
    const tensors = JSON.parse(await file.slice(8, 8 + length).text());
    delete tensors.__metadata__;
    return tensors;
  } catch {
    return undefined;
  }
}

/**
 * The tensors of the files.
 * @param {readonly File[]} files
 * @returns {Promise<Tensors>}
 */
export async function tensorsOf(files) {
  const weights = files.filter(({ name }) => name.endsWith('.safetensors'));
  return Object.assign({}, ...(await Promise.all(weights.map(headerOf))));
}

/** Modules with the tensors that identify them, tested in this order. */
const modules = /** @type {const} */ ([
  ['TransformerDecoder', /layers\.\d+\.multihead_attn\./],
  ['TransformerDecoderLayer', /multihead_attn\./],
  ['TransformerEncoder', /layers\.\d+\.self_attn\./],
  ['TransformerEncoderLayer', /self_attn\./],
  ['MultiheadAttention', /in_proj_weight/],
]);

/** @param {string} names */
const moduleOf = (names) =>
  /encoder\.layers\./.test(names) && /decoder\.layers\./.test(names)
    ? 'Transformer'
    : modules.find(([, mark]) => mark.test(names))?.[0];

/**
 * Describes the torch.nn module with these weights. Returns undefined for weights with an
 * embedding.
 * @param {Tensors} tensors
 */
export function torchModuleOf(tensors) {
  const names = Object.keys(tensors).sort();
  const first = names.find((name) => /(^|\.)in_proj_weight$/.test(name));
  const other = names.find(
    (name) => !/(^|\.)(in_proj|out_proj|linear[12]|norm\d?)[._](weight|bias)$/.test(name),
  );
  if (!first || other) return '';
  const width = tensors[first].shape[1];
  const parameters = Object.values(tensors).reduce(
    (sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1),
    0,
  );
  const layers = new Set(names.flatMap((name) => /^.*layers\.\d+\./.exec(name) ?? [])).size;
  const size = [
    ...(names.some((name) => name.includes('layers.')) ? [`${layers} layers`] : []),
    `width ${width}`,
    `${parameters.toLocaleString('en')} parameters`,
  ].join(', ');
  return `These are the weights of a torch.nn.${moduleOf(names.join('\n'))}: ${size}. Such a module takes vectors rather than words: the file has no embedding and no tokenizer, and does not say how many heads there are. So the page cannot run a sentence through it. A program can run it with attn.loadModel(files, { numHeads }) if it is an encoder, or load it into a layer with loadStateDict. To see it on this page, save it together with its embedding as one of the models above`;
}
