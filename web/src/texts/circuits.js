/** Text above the figure of a head's circuits. */
export const texts = {
  circuits:
    'A [head] does two things, and you can read both from its weights. Its [queries|query] and [keys|key] decide where it looks: the larger their score, the better two tokens match. Its [values|value] decide what it adds to the row of the token that looks, and so which next tokens become more likely. For one token of your sentence, the figure ranks the whole vocabulary by both. The two parts are called the query–key circuit and the output–value circuit.',
  noNorm:
    'This figure cannot show your model. It needs layers that normalise each token’s row before attention, and the layers of your model normalise only afterwards.',
};

/** Why a model has no such figure. */
export const tooLarge =
  'The embedding of this model is too large for this figure, which reads all of it at once.';
export const unknownRows =
  'This figure cannot show this model, because the model changes its embeddings before its first layer.';
