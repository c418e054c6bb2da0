"""Records the output of Hugging Face's library `tokenizers`, for the tests of the page's tokenizer.

Run `python3 tests/tokenizers/record.py` with Debian's package python3-tokenizers. The recorded files name the
version of the library.

- recorded/components.json: every normalizer, pre-tokenizer and decoder, each used alone.
- recorded/tokenizers.json: complete tokenizers, with every model, post-processor and kind of added token.
- recorded/characters.json: the code points that the library treats as marks, punctuation and so on.
"""

import base64
import json
import pathlib
import struct

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from texts import LINES

SENTENCES = [
    "The lady sat by the fire because the lady was tired, and the fire was warm.",
    "a friend is a friend is a friend; she saw him, he saw her!",
    "walk walked walking talk talked talking — 1234 and 99.5 per cent",
    "Café naïve façade Zürich, the author's dog didn't bark; they'll come, won't they?",
    "It was a truth universally acknowledged that a single man must be in want of a wife.",
] * 4

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
GPT4 = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
GPT4O = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]


def charsmap(replacements):
    """Encodes replacements as SentencePiece does: a double-array trie of UTF-8 keys, then the replacements."""
    texts, trie = b"", {}
    for key, text in sorted(replacements.items()):
        node = trie
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[0] = len(texts)
        texts += text.encode() + b"\0"
    units, used = {0: 0}, {0}

    def place(at, node):
        base = next(b for b in range(1, 1 << 20) if all((b ^ byte) not in used for byte in node) and b not in used)
        used.update([base, *(base ^ byte for byte in node)])
        units[at] = units.get(at, 0) | (0 in node) << 8 | (at ^ base) << 10
        for byte, child in node.items():
            if byte == 0:
                units[base] = child | 1 << 31
            else:
                units[base ^ byte] = byte
                place(base ^ byte, child)

    place(0, trie)
    array = [units.get(i, 0) for i in range(max(used) + 256)]
    return base64.b64encode(struct.pack(f"<I{len(array)}I", 4 * len(array), *array) + texts).decode()


CHARSMAP = charsmap({
    "ﬁ": "fi", "①": "1", "\u3000": " ", "\u00a0": " ", "…": "...", "e\u0301": "é", "Å": "Å", "\t": " ", "\n": " ", "\u200b": "", "™": "TM", "½": "1/2",
    "ｶ": "カ", "ｶﾞ": "ガ", "A": "a", "👍": "+", "か\u3099": "が",
})


def config_of(component):
    return json.loads(component.__getstate__())


def all_normalizers():
    n = normalizers
    yield from (n.NFC(), n.NFD(), n.NFKC(), n.NFKD(), n.Lowercase(), n.StripAccents(), n.Nmt(), n.ByteLevel(), n.Prepend("▁"))
    yield from (n.Strip(), n.Strip(left=True, right=False), n.Strip(left=False, right=True))
    yield from (n.Replace("a", "$&"), n.Replace(Regex(r"\s+"), " "), n.Replace(Regex("(``|'')"), '"'), n.Replace(Regex(r"[\p{M}]*$"), "."))
    yield from (n.BertNormalizer(), n.BertNormalizer(lowercase=False), n.BertNormalizer(strip_accents=False), n.BertNormalizer(clean_text=False))
    yield n.BertNormalizer(handle_chinese_chars=False, strip_accents=True, lowercase=False)
    yield n.Precompiled(base64.b64decode(CHARSMAP))
    yield n.Sequence([n.NFKD(), n.Lowercase(), n.StripAccents(), n.Strip(), n.Prepend("▁")])


def all_pre_tokenizers():
    p = pre_tokenizers
    yield p.UnicodeScripts()
    yield from (p.BertPreTokenizer(), p.Whitespace(), p.WhitespaceSplit(), p.CharDelimiterSplit("a"), p.FixedLength(3))
    yield from (p.ByteLevel(add_prefix_space=True), p.ByteLevel(add_prefix_space=False), p.ByteLevel(add_prefix_space=True, use_regex=False))
    yield from (p.Digits(individual_digits=True), p.Digits(individual_digits=False))
    yield from (p.Metaspace(), p.Metaspace(prepend_scheme="first"), p.Metaspace(prepend_scheme="never"), p.Metaspace(split=False))
    yield from (p.Punctuation(behavior) for behavior in BEHAVIORS)
    for behavior in BEHAVIORS:
        yield p.Split(" ", behavior)
    yield from (p.Split(Regex(r"\w+"), "removed", invert=True), p.Split(Regex(r"[aeiou ]"), "merged_with_next", invert=True), p.Split(Regex(r"\d"), "contiguous"))
    yield from (p.Split(Regex(pattern), "isolated") for pattern in (GPT2, LLAMA3, GPT4, GPT4O, DEEPSEEK))
    yield p.Split(Regex(BLOOM), "isolated")
    yield from (p.Split(Regex(pattern), "isolated") for pattern in (r"(?>a+)[ab]", r"(?:ab?)++a", r"\w?+\w[+*+]", "(?i:[is]|k)", r"^\p{L}+|\w$"))
    yield p.Split(Regex(LLAMA3), "removed", invert=True)
    yield p.Sequence([p.WhitespaceSplit(), p.Metaspace(prepend_scheme="first")])
    yield p.Sequence([p.Digits(individual_digits=True), p.Punctuation(), p.ByteLevel(add_prefix_space=True)])


TOKEN_LISTS = [
    ["the", "cat"], ["the", "##s", "cat", "##", "."], ["##the", "##re"], ["▁the", "▁cat", "s"], ["▁▁the", "▁", "cat▁"], ["the▁cat", "▁"],
    ["the</w>", "c", "at</w>", "!</w>"], ["</w>", "a"], ["Ġthe", "Ġcat"], ["ðŁĺ", "Ģ"], ["ðŁĺ"], ["Ġa", "Ã", "©"], ["é", "日本", "Ġ日"], ["Ċ", "Ģ"],
    ["<0xF0>", "<0x9F>", "<0x98>", "<0x80>"], ["a", "<0xF0>", "<0x9F>", "b"], ["<0x41>", "<0xZZ>", "<0x42>"], ["<0xC3>", "<0xA9>", "<0xFF>"], ["<0xEF>", "<0xBB>", "<0xBF>"],
    ["h", "h", "<pad>", "e", "l", "<pad>", "l", "|", "o"], ["do", "not", "'", "s", "n't", "."], ["do not", "'m", " ' "], [" a ", "  b  ", " "], ["H", "HHH", "aHbH"],
    ["wo", "##n", "'", "t", "?"], ["ï»¿a"], ["😀", "##😀"], ["aa", "baab", "a"],
]


def all_decoders():
    d = decoders
    yield from (d.ByteLevel(), d.ByteFallback(), d.Fuse(), d.BPEDecoder(), d.BPEDecoder("a"), d.WordPiece(), d.WordPiece(cleanup=False), d.WordPiece("▁"))
    yield from (d.Metaspace(), d.Metaspace(prepend_scheme="never"), d.Metaspace(prepend_scheme="first"), d.CTC(), d.CTC(cleanup=False))
    yield from (d.Replace("▁", " "), d.Replace(Regex("a+"), "$&"), d.Strip("H", 1, 0), d.Strip(" ", 1, 0), d.Strip("a", 0, 0))
    yield d.Sequence([d.Replace("▁", " "), d.ByteFallback(), d.Fuse(), d.Strip(" ", 1, 0)])


def ranges(codes):
    """Returns the first and last code point of each run of consecutive code points."""
    result = []
    for code in codes:
        if result and result[-1][1] == code - 1:
            result[-1][1] = code
        else:
            result.append([code, code])
    return result


def characters():
    """Returns the classes of code points that components distinguish, and the code points that normalizers change."""
    codes = [code for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]
    bert = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}

    def dropped(normalizer):
        return ranges(code for code in codes if normalizer.normalize_str(chr(code)) == "")

    def split(pre_tokenizer):
        return ranges(code for code in codes if len(pre_tokenizer.pre_tokenize_str("a" + chr(code) + "a")) != 1)

    scripts = pre_tokenizers.UnicodeScripts()

    result = {
        "mark": dropped(normalizers.StripAccents()),
        "nonspacing": dropped(normalizers.BertNormalizer(**{**bert, "strip_accents": True})),
        "control": dropped(normalizers.BertNormalizer(**{**bert, "clean_text": True})),
        "space": split(pre_tokenizers.WhitespaceSplit()),
        "digit": split(pre_tokenizers.Digits()),
        "punctuation": split(pre_tokenizers.Punctuation()),
        "notLatin": ranges(code for code in codes if len(scripts.pre_tokenize_str("a" + chr(code))) == 2),
        "nextScript": ranges(
            code for before, code in zip(codes, codes[1:]) if len(scripts.pre_tokenize_str(chr(before) + chr(code))) == 2),
    }
    for name in ("NFD", "NFKD", "Lowercase"):
        normalizer = getattr(normalizers, name)()
        result[name] = ranges(code for code in codes if normalizer.normalize_str(chr(code)) != chr(code))
    return result


def trained(model, trainer, **parts):
    tokenizer = Tokenizer(model)
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    return tokenizer


def byte_level(**parts):
    return trained(
        models.BPE(),
        trainers.BpeTrainer(
            vocab_size=330, special_tokens=["<|endoftext|>"], initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False),
        **{"pre_tokenizer": pre_tokenizers.ByteLevel(add_prefix_space=False), "decoder": decoders.ByteLevel(), **parts})


def split_digits():
    split = pre_tokenizers.Split(Regex(LLAMA3), "isolated")
    return byte_level(
        normalizer=normalizers.NFC(),
        pre_tokenizer=pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))


BERT_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def word_piece():
    tokenizer = trained(
        models.WordPiece(unk_token="[UNK]"),
        trainers.WordPieceTrainer(vocab_size=160, special_tokens=BERT_SPECIAL, show_progress=False),
        normalizer=normalizers.BertNormalizer(lowercase=True), pre_tokenizer=pre_tokenizers.BertPreTokenizer(), decoder=decoders.WordPiece())
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tokenizer


def final_sigma():
    vocab = {"[UNK]": 0, "οδοσ": 1, "οδος": 2, "[CLS]": 3, "[SEP]": 4, "the": 5, "##s": 6, "##ation": 7, "cat": 8, ",": 9, "漢": 10, "𬺰": 11}
    tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=8))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(["[CLS]", "[SEP]"])
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 4), ("[CLS]", 3))
    return tokenizer


def letters_of(*more):
    return sorted({letter for line in (*LINES, *SENTENCES) for letter in line if letter < "\u0180"} | set(more))


def single_words():
    """A tokenizer with every kind of added token."""
    letters = letters_of("▁")
    tokenizer = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(letters)}, merges=[]))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Replace(" ", "▁")])
    tokenizer.add_tokens([
        AddedToken("cat", single_word=True), AddedToken("the ", lstrip=True), AddedToken("tired", rstrip=True), AddedToken("SEE", normalized=False),
        AddedToken("café", single_word=True, normalized=False), AddedToken("lady", lstrip=True, rstrip=True, normalized=False), AddedToken("see you", normalized=False),
        AddedToken("Is", single_word=True)])
    tokenizer.add_special_tokens([AddedToken("<s>", rstrip=True), AddedToken("[MASK]", lstrip=True), "<sé>"])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    return tokenizer


def unigram():
    return trained(
        models.Unigram(),
        trainers.UnigramTrainer(vocab_size=150, special_tokens=["<unk>", "<s>", "</s>"], unk_token="<unk>", show_progress=False),
        normalizer=normalizers.Sequence([normalizers.Precompiled(base64.b64decode(CHARSMAP)), normalizers.Replace(Regex(" {2,}"), " ")]),
        pre_tokenizer=pre_tokenizers.Metaspace(), decoder=decoders.Metaspace())


def unigram_bytes():
    vocab = [("<unk>", 0.0), *((f"<0x{byte:02X}>", -9.0) for byte in range(256)), ("▁", -2.0), ("a", -3.0), ("b", -3.0), ("ab", -6.0), ("▁a", -4.5), ("日", -3.0), ("😀", -4.0)]
    tokenizer = Tokenizer(models.Unigram(vocab, unk_id=0, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    tokenizer.add_special_tokens(["<s>"])
    return tokenizer


def byte_fallback():
    """Like Llama 2, Mistral and Gemma: SentencePiece's BPE, with bytes for unknown characters."""
    model = json.loads(trained(
        models.BPE(), trainers.BpeTrainer(vocab_size=150, show_progress=False), pre_tokenizer=pre_tokenizers.Metaspace()).to_str())["model"]
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *model["vocab"]]
    tokenizer = Tokenizer(models.BPE(
        vocab={name: i for i, name in enumerate(dict.fromkeys(names))}, merges=[tuple(pair) for pair in model["merges"]],
        unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([
        decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return tokenizer


def few_bytes():
    """A tokenizer with byte tokens for only some unknown characters."""
    vocab = {"?": 0, "<0xC3>": 1, "<0xA9>": 2, "a": 3, "b": 4, "ab": 5, " ": 6, "<0xE6>": 7}
    return Tokenizer(models.BPE(vocab=vocab, merges=[("a", "b"), ], unk_token="?", byte_fallback=True))


def pair_model(**options):
    """A BPE model with fields that few models set."""
    vocab = {name: i for i, name in enumerate(["[U]", "a", "b", "t", "h", "e", "th", "the", "#h", "#e", "#a", "t#h", "e.", "a.", "the.", "h.", "t.", "#e.", "th#e."])}
    return Tokenizer(models.BPE(vocab=vocab, **options))


def prefixed():
    tokenizer = pair_model(merges=[("t", "#h"), ("th", "#e.")], unk_token="[U]", continuing_subword_prefix="#", end_of_word_suffix=".")
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.BPEDecoder(".")
    return tokenizer


def suffixed(**options):
    tokenizer = pair_model(merges=[("t", "h"), ("th", "e."), ("th", "e")], end_of_word_suffix=".", **options)
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.BPEDecoder(".")
    return tokenizer


def fused():
    return suffixed(unk_token="[U]", fuse_unk=True)


def unfused():
    return suffixed(unk_token="[U]", fuse_unk=False, ignore_merges=True)


def without_unknown():
    return suffixed()


def word_level():
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "the": 1, "cat": 2, "a": 3, "1": 4, "١": 5, ",": 6}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True)])
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(), processors.TemplateProcessing(single="$A:1 <e>", special_tokens=[{"id": "<e>", "ids": [1, 2], "tokens": ["the", "cat"]}])])
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=8)
    return tokenizer


MAKERS = [
    byte_level, split_digits, word_piece, final_sigma, single_words, unigram, unigram_bytes, byte_fallback, few_bytes, prefixed, fused, unfused,
    without_unknown, word_level,
]

MORE = {
    "single_words": [
        "concatenate", "cat", "a cat.", "cats", "cat_", "cat cat", "CAT", "écat", "cat\u0301", "the the  cat", "the  tired  lady  is", "see you SEE you SEEsee you",
        "café cafés", "<s>  a", "a  [MASK]  b", "  lady  ", "is this Is", "<sé><SÉ>", "a\u00a0[MASK]", "𝐀cat", "cat𝐀", "[MASK] [MASK]", "tired [MASK]"],
    "unigram_bytes": ["ab", "abab", "aé日本", "<s>a", "a<s>b", " a"],
    "few_bytes": ["é", "aéb", "abé é", "日é日", "ñé"],
}


def cases_of(tokenizer, texts):
    # Transformers sets truncation and padding for each call and ignores the settings in the file.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    cases = []
    for text in texts:
        encoding = tokenizer.encode(text)
        case = {"text": LINES.index(text) if text in LINES else text, "ids": encoding.ids}
        decoded = tokenizer.decode(encoding.ids)
        if decoded != text:
            case["decoded"] = decoded
        cases.append(case)
    return cases


def pairs(tokenizer, separator):
    """Records pairs of sentences. A text with the separator between both sentences must give the same ids."""
    result = []
    for first, second in (("the cat", "the lady was"), ("a", f"the {separator} a"), ("", "the")):
        encoding = tokenizer.encode(first, second)
        result.append({"text": f"{first} {separator} {second}", "ids": encoding.ids, "types": encoding.type_ids})
    return result


def streamed(tokenizer):
    """Records the text of the first n tokens of a few texts, for every n."""
    result = []
    for text in ("a 😀", "é 日本", "👩\u200d👧!"):
        ids = tokenizer.encode(text).ids
        result.append({"ids": ids, "texts": [tokenizer.decode(ids[:n]) for n in range(1, len(ids) + 1)]})
    return result


def write(name, record):
    folder = pathlib.Path(__file__).parent / "recorded"
    folder.mkdir(exist_ok=True)
    with open(folder / f"{name}.json", "w", encoding="ascii") as file:
        json.dump({"library": f"tokenizers {tokenizers.__version__}", **record}, file, separators=(",", ":"))
        file.write("\n")


def pieces_of(pre_tokenizer, i, text):
    """Returns where pieces begin and end. If the text of the pieces has changed, returns the pieces, but only for every third line."""
    pieces = pre_tokenizer.pre_tokenize_str(text)
    if all(text[start:end] == piece for piece, (start, end) in pieces):
        bounds = [bound for _, bounds in pieces for bound in bounds]
        # If the pieces leave no gaps, their ends are enough.
        if bounds and bounds[0] == 0 and bounds[-1] == len(text) and bounds[1:-1:2] == bounds[2::2]:
            return bounds[1::2]
        return {"bounds": bounds}
    return None if i % 3 else [piece for piece, _ in pieces]


def components():
    def normalized(normalizer):
        texts = [normalizer.normalize_str(line) for line in LINES]
        changed = {i: text for i, text in enumerate(texts) if text != LINES[i]}
        # If a normalizer changes most lines, record only every third line.
        return changed if len(changed) < 100 else {i: texts[i] for i in range(0, len(LINES), 3)}

    return {
        "lines": LINES,
        "tokenLists": TOKEN_LISTS,
        "normalizers": [{"config": config_of(each), "changed": normalized(each)} for each in all_normalizers()],
        "preTokenizers": [{"config": config_of(each), "pieces": [pieces_of(each, i, line) for i, line in enumerate(LINES)]} for each in all_pre_tokenizers()],
        "decoders": [{"config": config_of(each), "texts": [each.decode(list(tokens)) for tokens in TOKEN_LISTS]} for each in all_decoders()],
    }


def whole():
    result = {}
    for make in MAKERS:
        tokenizer = make()
        record = json.loads(tokenizer.to_str())
        few = make in (split_digits, single_words, byte_fallback, prefixed, fused, unfused, without_unknown, word_level, few_bytes, unigram_bytes, final_sigma)
        texts = [*(LINES[::3] if few else LINES), *MORE.get(make.__name__, [])]
        result[make.__name__] = {"tokenizer": record, "cases": cases_of(tokenizer, texts)}
        if make in (word_piece, final_sigma):
            result[make.__name__]["pairs"] = pairs(tokenizer, "[SEP]")
        if make in (byte_level, byte_fallback, unigram_bytes):
            result[make.__name__]["beginnings"] = streamed(tokenizer)
    return {"lines": LINES, "tokenizers": result}


if __name__ == "__main__":
    write("components", components())
    write("tokenizers", whole())
    write("characters", characters())
