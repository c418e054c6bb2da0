/**
 * Definitions of technical terms, none of which depends on another.
 * @type {Readonly<Record<string, string>>}
 */
export const glossary = {
  token: 'A piece of text that is handled as one: here a word, or a part of one.',
  vector: 'A list of numbers. Two of the same length can be added, and compared by a dot product.',
  dimension:
    'How many numbers a vector has; also, the place of one among them. Here they are the columns of a picture.',
  embedding:
    'The vector that stands for a token: one row of numbers. All work is done on these numbers.',
  'dot product':
    'Multiply the first number of one vector with the first of the other, the second with the second, and so on; then add up. It is large where both point the same way.',
  query: 'The vector by which a token asks: what it looks for in others.',
  key: 'The vector by which a token is found: what it offers to be looked for. A query is compared with every key.',
  value: 'The vector that a token hands over when it is looked at.',
  score: 'The dot product of a query and a key, before it becomes a weight. It may be any number.',
  weight:
    'The share of its attention that one token gives to another: from 0 to 1. The shares of a row add up to 1. (The numbers that a model learns are called weights, too.)',
  softmax:
    'Turns scores into shares: put e to the power of each score, then divide each by the sum of all. A score that is larger by 1 gets 2.7 times the share.',
  head: 'One of several that look at the words side by side in a layer, each in its own way: with queries, keys and values of its own.',
  layer:
    'One step of a model: every token comes in as a vector and leaves as a new one. Models stack many.',
  projection:
    'A table of numbers (a matrix) that makes a new vector out of a vector: each new number is a sum of the old ones, each times a number of the table. The identity changes nothing.',
  'width d': 'How many numbers each token has, in the whole layer. (Programs call it d_model.)',
  'width D':
    'How many numbers a query or key of one head has. The columns are shared out among the heads: D is the width d divided by the number of heads.',
  mask: 'Pairs that may not look at each other: their scores are set to minus infinity, so that their share is 0.',
  causal:
    'No token may look at those after it. So a model can learn to predict the next word without seeing it.',
  padding:
    'Filling: sentences that are computed together must have one length, so short ones are filled up. No token may look at the filling.',
  window: 'Only the nearest so many tokens on each side may be looked at.',
  saturation:
    'One share is nearly 1 and all others nearly 0, and small changes of the scores change nothing.',
  gradient:
    'How much a result changes if one number is moved a little. Learning goes by it: where it is 0, nothing can be learned.',
  entropy:
    'How spread out a row of shares is, in bits. 0: all on one token. 1: as if evenly on two. 2: as if on four. 3: on eight.',
  'mean distance':
    'How many places away the tokens are that are looked at, on average, each by its share.',
  'largest share': 'The largest weight of a row, as the average over all rows.',
  Xavier:
    'Random numbers to start learning from, of such a size that vectors grow neither larger nor smaller from layer to layer. Named after Xavier Glorot.',
  seed: 'A number that random numbers are made from: the same seed gives the same ones again.',
  hash: 'A rule that makes a number out of letters: always the same for the same letters, and otherwise as if by chance.',
  D2L: '“Dive into Deep Learning”, a free textbook. This page follows its section 11.6 and the ones around it.',
  'the core': 'The library in C++ that computes every number of this page, here in your browser.',
  equivariant:
    'Permutation equivariant: whoever shuffles what goes in gets the same as before, shuffled in the same way.',
  loss: 'How surprised a model is by what really comes: the logarithm of one divided by the probability that it gave. 0: it was certain, and right.',
  wavelength: 'How many positions it takes until a wave begins again, or a hand has turned once.',
  base: 'The number b that says how much slower each wave is than the one before, and how slow the slowest: nearly 2π · b positions for one turn, if there are many hands.',
  'geometric series':
    'Each number is the one before times the same factor, as in 1, 10, 100, 1000.',
  rotary:
    'RoPE: queries and keys are turned, pair by pair of columns, by an angle that grows with the position.',
  residual:
    'What went in is added to what came out. So a layer says only what is to change, and nothing gets lost.',
  'layer normalisation':
    'Every row is moved and stretched so that its mean is 0 and its standard deviation 1, then each column is scaled by a learned number.',
  'feed-forward network':
    'Two projections with a bend between them, for each token by itself: wide in the middle, as narrow as before at the end.',
  ReLU: 'The simplest bend: what is below 0 becomes 0, the rest stays. Without a bend, two projections would be no more than one. (GELU is the same with a rounded corner.)',
  encoder: 'The part that reads: all tokens at once, and each may look at all.',
  decoder: 'The part that writes: one token after the other, and none may look ahead.',
  cache: 'Keys and values of earlier tokens, kept so that they need not be computed again.',
  temperature:
    'A number that scores are divided by before softmax. Below 1 the likely becomes likelier; above 1 the unlikely gets a chance.',
  GRU: 'Gated recurrent unit: a network that reads one word after the other and decides at each how much of its memory to keep.',
  RNN: 'Recurrent network: it reads one token after the other and carries a memory, its state, from each to the next.',
  CNN: 'Convolutional network: each output looks at a few neighbours only, k of them; layers on top see further.',
  'kernel size': 'How many neighbouring tokens a convolution looks at.',
  step: 'In training: one small change of all weights after looking at some examples. In a table of costs: something that has to wait for what comes before.',
  thread:
    'One line of work in a program. A processor with two cores does two of them at the same time.',
  'multiply-add':
    'One multiplication and one addition. Nearly all work of a model is made of them.',
  parameter: 'A number of the model that is learned.',
  'learning rate': 'How far the weights are moved in one step.',
  AdamW:
    'A rule for training: it follows the mean of the last gradients, moves all weights about equally far, and draws them a little towards 0.',
  float32:
    'How computers usually write numbers with a fraction: in 32 bits, about seven decimal digits.',
  SIMD: 'Single instruction, multiple data: one instruction of the processor works on four numbers, or more, at once.',
};
