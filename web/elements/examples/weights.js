import { load } from 'attn';
import 'attn/figures';

const attn = await load();
const tokens = 'the animal did not cross the street because it was too tired'.split(' ');
const x = attn.positionalEncoding(attn.ngramEmbedding(tokens, { dModel: 64 }));
const layer = new attn.MultiHeadAttention({ dModel: 64, numHeads: 4, init: 'xavier', seed: 1 });
const { weights } = layer.forward(x, x, x, { causal: true, needWeights: true });

const figure = document.querySelector('attn-weights');
figure.tokens = tokens;
figure.weights = weights;
figure.addEventListener('select', ({ detail }) => console.log(detail?.queryToken, detail?.weight));
