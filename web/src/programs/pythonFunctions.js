/**
 * Python functions for features that PyTorch lacks, so that programs depend only on PyTorch and
 * NumPy: attn's random numbers, and embeddings made from a word's letters.
 */

const words = `def random_words(seed, stream, blocks):
    """attn's random bits: four words of 32 bits in each block (Philox4x32-10, Salmon et al. 2011)."""
    low = 0xFFFFFFFF
    c = [np.full(blocks, each, np.uint64) for each in (0, 0, stream & low, stream >> 32)]
    c[0] += np.arange(blocks, dtype=np.uint64)
    k0, k1 = seed & low, seed >> 32
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k0, b & low, a >> 32 ^ c[3] ^ k1, a & low]
        k0, k1 = k0 + 0x9E3779B9 & low, k1 + 0xBB67AE85 & low
    return np.stack(c, axis=1).astype("<u4")
`;

const xavier = `
def xavier(rows, columns, seed, stream=0):
    """A weight drawn by Xavier's uniform rule."""
    drawn = random_words(seed, stream, -(-rows * columns // 4)).ravel()[:rows * columns]
    bound = (6 / (rows + columns)) ** 0.5
    values = bound * (2 * (drawn >> 8) * 2.0**-24 - 1)
    return torch.from_numpy(values.reshape(rows, columns)).float()
`;

const normal = `
def normal(rows, columns, seed, stream=0):
    """Numbers drawn from the normal distribution (Box & Muller 1958)."""
    drawn = random_words(seed, stream, -(-rows * columns // 4)).reshape(-1, 2)
    radius = np.sqrt(-2 * np.log((drawn[:, 0] + 0.5) / 2**32))
    angle = 2 * np.pi * drawn[:, 1] / 2**32
    values = np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=1).ravel()
    return torch.from_numpy(values[:rows * columns].reshape(rows, columns)).float()
`;

const embedding = `
def extended(code, letter):
    """The hash of a text, extended by one letter (SplitMix64)."""
    z = ((code ^ letter) + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31

def embedding(word, d):
    """The sum of random vectors for the word and for its pieces of two to four letters."""
    letters = [0x110000, *map(ord, word), 0x110001]  # a mark before the word, one after it
    codes = []
    for begin in range(len(letters)):
        piece = 0x6E6772616D000000
        for size, letter in enumerate(letters[begin:begin + 4], 1):
            piece = extended(piece, letter)
            if size > 1:
                codes.append(piece)
    whole = 0x776F726400000000
    for letter in letters:
        whole = extended(whole, letter)
    vectors = [2.0 * random_words(0, code, -(-d // 16)).view(np.uint8).ravel()[:d] - 255
               for code in (*codes, whole)]
    total = np.sum(vectors, axis=0)
    if not total.any():
        total += vectors[-1]
    return torch.from_numpy(total / np.sqrt(np.mean(total**2))).float()
`;

const functions = { embedding, xavier, normal };

/**
 * Definitions of the functions that a program calls, and of the functions that these call.
 * @param {string} program
 */
export function pythonFunctions(program) {
  const wanted = Object.entries(functions).filter(([name]) =>
    RegExp(`(?<![\\w.])${name}\\(`).test(program),
  );
  return wanted.length ? [words, ...wanted.map(([, text]) => text)].join('') : '';
}
