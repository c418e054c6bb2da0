// Trains two attention-only layers to copy: the first half of each sequence is random, and the
// second half equals the first.

import { load } from 'attn';

const [vocabulary, half, batch, dModel] = [16, 6, 16, 64];
const shape = [batch, 2 * half - 1];
const attn = await load({ training: true });
const model = {
  tokens: new attn.Embedding({ numEmbeddings: vocabulary, embeddingDim: dModel, deviation: 0.5 }),
  positions: new attn.LearnedPositionalEncoding({ maxLength: shape[1], dModel, deviation: 0.5 }),
  first: new attn.MultiHeadAttention({ dModel, numHeads: 4, seed: 1 }),
  second: new attn.MultiHeadAttention({ dModel, numHeads: 4, seed: 2 }),
  unembed: new attn.Linear({ inFeatures: dModel, outFeatures: vocabulary, seed: 3 }),
};
const optimizer = new attn.AdamW(model, { lr: 3e-3 });
const tape = new attn.Tape();

for (let step = 0; step < 200; ++step) {
  const random = attn.randomUniform({ shape: [batch, half], high: vocabulary, seed: step }).data;
  const ids = { data: new Int32Array(batch * (2 * half - 1)), shape };
  const targets = { data: new Int32Array(ids.data), shape };
  for (let n = 0; n < ids.data.length; ++n) {
    const [row, i] = [Math.floor(n / shape[1]) * half, n % shape[1]];
    ids.data[n] = random[row + (i % half)];
    // The random half of a sequence cannot be predicted, so it is excluded from the loss.
    targets.data[n] = i + 1 < half ? -100 : random[row + ((i + 1) % half)];
  }
  tape.clear();
  let x = model.positions.forward(model.tokens.forward(ids, { tape }));
  x = x.add(model.first.forward(x, x, x, { causal: true }));
  x = x.add(model.second.forward(x, x, x, { causal: true }));
  const loss = attn.crossEntropy(model.unembed.forward(x), targets);
  tape.backward(loss);
  attn.clipGradNorm(tape, 1);
  optimizer.step(tape);
  if (step % 50 === 0 || step === 199) console.log(step, loss.item());
}
