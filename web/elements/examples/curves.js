import { load } from 'attn';

const attn = await load();
document.querySelector('attn-curves').values = attn.sinusoidalEncoding({ length: 60, dModel: 32 });
