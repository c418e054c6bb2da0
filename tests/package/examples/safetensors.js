// Loads a layer's weights from a .safetensors file, in which they have PyTorch's names.

import { load } from 'attn';

const attn = await load();

const file = new URL('./weights.safetensors', import.meta.url);
const bytes = globalThis.process
  ? await process.getBuiltinModule('node:fs/promises').readFile(file)
  : await (await fetch(file)).arrayBuffer();

// Lists the contents of the file.
const opened = new attn.Safetensors(bytes);
for (const { name, dtype, shape } of opened.tensors) console.log(name, dtype, shape);

// The file contains torch.nn.MultiheadAttention(2, 1, bias=False) with the prefix `attention.`.
const layer = new attn.MultiHeadAttention({ dModel: 2, numHeads: 1 });
layer.loadStateDict(opened, { prefix: 'attention.' });
opened.dispose();

const x = { data: [1, 0, 0, 1], shape: [2, 2] };
console.log('output', layer.forward(x).output.data);
layer.dispose();
