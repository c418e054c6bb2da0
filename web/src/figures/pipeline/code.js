import { cppProgram, double, javascriptProgram, pythonProgram } from '../../frame/programs.js';
import { inputCode } from '../../model/inputCode.js';

/**
 * Programs for what the layer reads: the embeddings, plus the encoding of their positions.
 * @param {import('../../model/sentence.js').SentenceSettings} settings
 * @param {string[]} tokens
 */
export function pipelineCode(settings, tokens) {
  const { javascript, cpp } = inputCode(settings, tokens, '');
  return {
    python: pythonProgram({
      body: `import numpy as np

# Exported by this figure: PyTorch has no embeddings of character n-grams.
x = torch.from_numpy(np.load("pipeline-embedding.npy"))
${
  settings.encoding === 'sinusoidal'
    ? `n, d_model = x.shape
position = torch.arange(n, dtype=torch.float64).reshape(-1, 1)
column = torch.arange(0, d_model, 2, dtype=torch.float64)
angle = position / ${double(settings.base)} ** (column / d_model)
x = x + torch.stack((torch.sin(angle), torch.cos(angle)), dim=2).reshape(n, d_model)`
    : ''
}`,
      result: 'x',
    }),
    cpp: cppProgram({
      body: cpp,
      ...{ result: 'x', rows: 'n', columns: 'd_model', includes: ['<string_view>'] },
    }),
    javascript: javascriptProgram({ body: javascript, result: 'x' }),
  };
}
