"""Records what Hugging Face's library for Python makes of texts, with tokenizers of each kind that models of attn's
families have, trained on a few sentences: python3 tests/tokenizers/record.py, with Debian's python3-tokenizers."""

import json
import pathlib

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

lines = [
    "The lady sat by the fire because the lady was tired, and the fire was warm.",
    "a friend is a friend is a friend; she saw him, he saw her!",
    "walk walked walking talk talked talking — 1234 and 99.5 per cent",
    "Café naïve façade Zürich, the author's dog didn't bark; they'll come, won't they?",
    "It was a truth universally acknowledged that a single man must be in want of a wife.",
] * 4
texts = [
    "the lady was tired",
    "She didn't walk; they'll talk, won't they?",
    "Café ZÜRICH, naïve — and 42.50!",
    "a  friend   is a friend",
    "日本語 and 😀 here",
    "unacknowledged walkings",
    "",
    "I'M, it's: (a friend)",
    "line\none\ttab",
    "e\u0301 is é",
    "<s> the </s> [MASK] <|endoftext|> lady",
    "x" * 120,
]


def byte_level():
    """GPT-2, RoBERTa, Qwen, Llama 3."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        lines, trainers.BpeTrainer(vocab_size=420, special_tokens=special, initial_alphabet=alphabet, show_progress=False))
    return tokenizer


def split_digits():
    """Qwen 2 and 3, Llama 3, OLMo 2: a pattern of their own before the bytes."""
    tokenizer = byte_level()
    pattern = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    return tokenizer


def word_piece():
    """BERT, DistilBERT."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(
        lines, trainers.WordPieceTrainer(vocab_size=200, special_tokens=special, show_progress=False))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tokenizer


def unigram():
    """SentencePiece's other kind."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.train_from_iterator(lines, trainers.UnigramTrainer(
        vocab_size=180, special_tokens=["<unk>", "<s>", "</s>"], unk_token="<unk>", show_progress=False))
    return tokenizer


def byte_fallback():
    """Llama 2, Mistral, Gemma: pairs of SentencePiece, and bytes for what it does not know."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    trained.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=200, show_progress=False))
    model = json.loads(trained.to_str())["model"]
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *model["vocab"]]
    merges = [tuple(pair) if isinstance(pair, list) else tuple(pair.split(" ")) for pair in model["merges"]]
    tokenizer = Tokenizer(models.BPE(
        vocab={name: i for i, name in enumerate(dict.fromkeys(names))}, merges=merges,
        unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([
        decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return tokenizer


folder = pathlib.Path(__file__).parent
for make in (byte_level, split_digits, word_piece, unigram, byte_fallback):
    tokenizer = make()
    # As the page gives them: without spaces around, and with one between words.
    asked = [" ".join(text.split()) for text in texts]
    cases = [{"text": text, "ids": tokenizer.encode(text).ids} for text in asked]
    for case in cases:
        case["decoded"] = tokenizer.decode(case["ids"])
    record = {"tokenizer": json.loads(tokenizer.to_str()), "cases": cases}
    (folder / f"{make.__name__}.json").write_text(json.dumps(record, ensure_ascii=True, separators=(",", ":")) + "\n")
