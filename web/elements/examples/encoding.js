import { load } from 'attn';

const attn = await load();
document.querySelector('attn-encoding').encoding = attn.sinusoidalEncoding({
  length: 60,
  dModel: 32,
});
