/** Text above the figure that compares two sentences. */
export const texts = {
  compare: [
    'Change a word, and the prediction changes. Which numbers carry the difference? Let the model read the other sentence, and replace one row of its numbers, such as the row of the third token after layer 1, with the same row from your sentence. If the model now predicts the same as after your sentence, this row carries the difference. This is called activation patching.',
    'The map shows the result for each token and each layer. Before the first layer, only the changed word differs. After the last layer, only the last row counts, because the prediction is made from it. In between, attention moves the difference from one row to another.',
  ],
};

/** The sentence that is compared with the page’s initial sentence. */
export const example = 'the child sat by the fire because the lady was tired';
