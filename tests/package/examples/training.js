// Trains two layers of nothing but attention to repeat: after a random half, the same half again.

import { load } from 'attn';

const [vocabulary, half, batch, dModel] = [16, 6, 16, 64];
const length = 2 * half - 1;
const attn = await load({ training: true });
const attention = (seed) => new attn.MultiHeadAttention({ dModel, numHeads: 4, seed });
const model = {
  tokens: new attn.Embedding({ numEmbeddings: vocabulary, embeddingDim: dModel, deviation: 0.5 }),
  positions: new attn.LearnedPositionalEncoding({ maxLength: length, dModel, deviation: 0.5 }),
  first: attention(1),
  second: attention(2),
  unembed: new attn.Linear({ inFeatures: dModel, outFeatures: vocabulary, seed: 3 }),
};
const optimizer = new attn.AdamW(model, { lr: 3e-3 });
const tape = new attn.Tape();

function lossOf(ids, targets) {
  let x = model.positions.forward(model.tokens.forward(ids, { tape }));
  x = x.add(model.first.forward(x, x, x, { causal: true }));
  x = x.add(model.second.forward(x, x, x, { causal: true }));
  return attn.crossEntropy(model.unembed.forward(x), targets);
}

for (let step = 0; step < 200; ++step) {
  const { data } = attn.randomUniform({ shape: [batch, half], low: 0, high: vocabulary, seed: step });
  const token = (b, i) => Math.floor(data[b * half + (i % half)]);
  const shape = [batch, length];
  const each = (of) => Array.from({ length: batch * length }, (_, n) => of(Math.floor(n / length), n % length));
  tape.clear();
  // What cannot be known, the random half itself, does not count.
  const targets = each((b, i) => (i + 1 < half ? -100 : token(b, i + 1)));
  const loss = lossOf({ data: each(token), shape }, { data: targets, shape });
  tape.backward(loss);
  attn.clipGradNorm(tape, 1);
  optimizer.step(tape);
  if (step % 50 === 0 || step === 199) console.log(step, loss.item());
}
