// The page uses one term for one thing:
//   position          where a token is, counted from 0 (not "place")
//   attention weight  what one token gives another, from 0 to 1; also "weight" (not "share")
//   matrix            a table of numbers that a vector is multiplied by
//   projection        a matrix that makes queries, keys, values or the output
//   pair of columns   two neighbouring numbers of an encoding; "clock hand" is a picture of it
//   predict           what a model does with the next token (not "foretell")
//   head, layer, query, key, value, score: as in the literature

/**
 * Definitions of technical terms. Each can be understood without the others.
 * @type {Readonly<Record<string, string>>}
 */
export const glossary = {
  token:
    'A piece of text that is handled as a unit: a common word, or a piece of a rare word. A piece that continues a word is shown with a hyphen in front.',
  vector:
    'A list of numbers. Two vectors of the same length can be added, and compared by a dot product.',
  dimension:
    'How many numbers a vector has. The word is also used for one of these numbers. Here the dimensions are the columns of a picture.',
  embedding:
    'The vector that represents a token: one row of numbers. A model works only on these numbers.',
  'dot product':
    'Multiply the first number of one vector by the first of the other, the second by the second, and so on. Then add up the products. The sum is large if both vectors point the same way.',
  query: 'The vector that says what a token looks for in others.',
  key: 'The vector by which other tokens find this one. A query is compared with every key.',
  value: 'The vector that a token hands over when it is looked at.',
  score: 'The dot product of a query and a key, before it becomes a weight. It may be any number.',
  weight:
    'How much of its attention one token gives to another, from 0 to 1. The attention weights of a row add up to 1. (The numbers that a model learns are called weights, too.)',
  softmax:
    'Turns scores into weights: raise e to the power of each score, then divide each power by the sum of all powers. A score that is larger by 1 gets 2.7 times the weight.',
  head: 'One of several parts of a layer that look at the words at the same time. Each head has its own queries, keys and values.',
  layer:
    'One step of a model: every token comes in as a vector and leaves as a new vector. Models stack many layers.',
  projection:
    'A matrix (a table of numbers) that turns a vector into a new one. Each new number is a sum of the old numbers, each multiplied by a number from the matrix. The projection “identity” changes nothing.',
  'width d': 'How many numbers the vector of each token has. (Programs call it d_model.)',
  'width D':
    'How many numbers a query or key of one head has. The columns are divided among the heads, so D is the width d divided by the number of heads.',
  mask: 'A rule that says which tokens may not look at which others. The scores of such pairs are set to minus infinity, so that their weights are 0.',
  causal:
    'No token may look at later tokens. This lets a model learn to predict the next word without seeing it.',
  padding:
    'Sentences that are processed together must have the same length, so short ones are padded. No token may look at the padding.',
  window: 'A token may look only at the tokens nearest to it, up to a given number on each side.',
  saturation:
    'One weight is nearly 1 and all others are nearly 0, so small changes in the scores change almost nothing.',
  gradient:
    'How much a result changes if one number is moved a little. Learning depends on the gradient: where it is 0, nothing can be learned.',
  entropy:
    'How widely a row of weights is spread, in bits. 0 means that one token gets everything, 1 is like an even split between two tokens, 2 between four, and 3 between eight.',
  'mean distance':
    'How many positions away a token looks on average. The more attention goes to a distance, the more that distance counts.',
  'largest weight': 'How much attention a row gives its favourite token, averaged over all rows.',
  Xavier:
    'A way to choose the random numbers that training starts from. Their size is chosen so that vectors grow neither larger nor smaller from layer to layer. Named after Xavier Glorot.',
  seed: 'A number that random numbers are made from. The same seed always gives the same numbers.',
  hash: 'A rule that makes a number out of letters. The number looks random, but the same letters always give the same number.',
  D2L: '“Dive into Deep Learning”, a free textbook. This page follows its section 11.6 and the sections around it.',
  'the core': 'The C++ library that computes every number on this page, here in your browser.',
  equivariant:
    'Permutation equivariant: shuffle the input, and the output is shuffled in the same way.',
  loss: 'How surprised a model is by the right answer: the logarithm of 1/p, where p is the probability that it gave to that answer. A loss of 0 means that it was certain, and right.',
  wavelength: 'How many positions it takes for a wave to repeat, or for a clock hand to turn once.',
  base: 'The number b that sets the speed of the slowest clock hand, and how much slower each hand is than the one before it. With many hands, the slowest takes nearly 2π · b positions for one turn.',
  'geometric series':
    'A series in which each number is the previous one times the same factor, as in 1, 10, 100, 1000.',
  rotary:
    'RoPE: each pair of columns in a query or key is turned by an angle that grows with the position.',
  residual:
    'The input of a layer is added to its output. So a layer says only what should change, and nothing gets lost.',
  'layer normalisation':
    'Shifts and stretches every row so that its mean is 0 and its standard deviation 1. Then each column is scaled and shifted by learned numbers.',
  'feed-forward network':
    'Two projections with a bend, such as ReLU, between them, applied to each token separately. The first makes the vector wider, and the second makes it as narrow as before.',
  ReLU: 'The simplest bend: numbers below 0 become 0, and the rest stay as they are. Without a bend, two projections could do no more than one. (GELU is the same with a rounded corner.)',
  encoder:
    'The part of a model that reads. It takes in all tokens at once, and each token may look at all others.',
  decoder:
    'The part of a model that writes. It writes one token at a time, and no token may look ahead.',
  cache: 'Keys and values of earlier tokens, kept so that they need not be computed again.',
  temperature:
    'A number that scores are divided by before softmax. Below 1, likely tokens become likelier. Above 1, unlikely ones get a chance.',
  GRU: 'Gated recurrent unit: a network that reads one word after another and decides at each word how much of its memory to keep.',
  RNN: 'Recurrent network: it reads one token after another and carries a memory, its state, from each token to the next.',
  CNN: 'Convolutional network: each output looks at only k neighbouring tokens. Later layers see further.',
  'kernel size': 'How many neighbouring tokens a convolution looks at.',
  step: 'In training: one small change to all the numbers that a model learns, after looking at some examples. In a table of costs: an operation that has to wait for the one before it.',
  thread:
    'A sequence of instructions that a processor carries out one by one. A processor with two cores can run two threads at the same time.',
  'multiply-add':
    'One multiplication and one addition. Nearly all the work of a model consists of multiply-adds.',
  parameter: 'One of the numbers that a model learns.',
  'learning rate': 'How far the learned numbers are moved in one step.',
  AdamW:
    'A rule for training. It follows the mean of the latest gradients, moves all learned numbers about equally far, and pulls them a little towards 0.',
  float32:
    'The usual way to store numbers with a fraction: 32 bits, which give about seven decimal digits.',
  SIMD: 'Single instruction, multiple data: one instruction of the processor works on four or more numbers at once.',
};
