/** Text between the figures about what each layer adds to a prediction. */
export const texts = {
  lens: 'The prediction is read from a token’s row after the last layer. But you can read it earlier: take the row after any layer, apply the model’s last normalisation and its output layer, and see which token comes out on top. This is called the logit lens.',
  contributions:
    'Each token’s row is a sum: the embedding, and everything that [heads|head] and [feed-forward networks|feed-forward network] have added to it. So the score of a predicted token, before softmax, is a sum, too. The bars show what each part adds. This is called direct logit attribution.',
  noSum:
    'The scores of this model cannot be split in this way. Its layers normalise each token’s row after every sum, so the row after the last layer is not a sum of what the parts have added.',
};
