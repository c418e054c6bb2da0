import { double } from '../../frame/programs.js';
import { attentionCode } from '../attention/code.js';

/**
 * Programs from the embeddings, plus the encoding of their positions, to the weights of a head.
 * @param {import('../../model/sentence.js').SentenceSettings} settings
 * @param {string[]} tokens
 * @param {number} head
 * @param {import('../../model/language/languagePrograms.js').Learned | null} [learned] the language model, if the layer is one of its
 */
export function pipelineCode(settings, tokens, head, learned) {
  const python = `import numpy as np

# Exported by this figure: PyTorch has no embeddings of character n-grams.
x = torch.from_numpy(np.load("pipeline-embedding.npy"))
n, d_model = x.shape${
    settings.encoding === 'sinusoidal'
      ? `
position = torch.arange(n, dtype=torch.float64).reshape(-1, 1)
column = torch.arange(0, d_model, 2, dtype=torch.float64)
angle = position / ${double(settings.base)} ** (column / d_model)
x = (x + torch.stack((torch.sin(angle), torch.cos(angle)), dim=2).reshape(n, d_model)).float()`
      : ''
  }`;
  return attentionCode(settings, tokens, head, '', python, learned);
}
