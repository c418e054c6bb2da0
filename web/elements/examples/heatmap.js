import { load } from 'attn';

const attn = await load();
const tokens = ['time', 'flies', 'like', 'an', 'arrow'];
const x = attn.ngramEmbedding(tokens, { dModel: 16 });
const { scaledScores } = attn.scaledDotProductAttention(x, x, x, { needScaledScores: true });

const figure = document.querySelector('attn-heatmap');
figure.values = scaledScores;
figure.rowLabels = figure.columnLabels = tokens;
