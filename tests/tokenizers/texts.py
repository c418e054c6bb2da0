"""Texts on which tokenizers differ most: scripts, white space, invisible characters, and letters with special rules."""

LINES = [
    # Plain text, including parts that tokenizers treat specially.
    "the lady was tired", "She didn't walk; they'll talk, won't they?", "I'M, it's: (a friend)", "a  friend   is a friend",
    "unacknowledged walkings", "", " ", "  ", " the", "the ", "  the  cat  ", "Hello, World!", "HELLO world", "x" * 120, "aab aaab ababa ab a*+",
    "3.14 and 1,000,000", "1234567890", "a1b2c3", "user@example.com", "https://a.b/c?d=e&f#g", "C++ and C#", "snake_case camelCase",
    "## Title", "###", "#", "a##b", "a-b–c—d", "“quoted” ‘text’", "$1.50 + 20% = £3 ^_^ `~|<>", "it is do not say do not .", "wait ... what ?!",
    "<s> the </s> [MASK] <|endoftext|> lady", "[SEP]", "the [SEP]cat", "<0x41> <0xZZ>",
    # White space.
    "a\tb", "a\nb", "a\n\nb", "a\r\nb", "\n", "\n\n\n", " \n ", "a \n b", "a\x0bb\x0cc", "a\u00a0b", "a\u3000b", "a\u2003b", "a\u2009b\u202fc",
    "a\u0085b", "a\u1680b", "a\u2028b\u2029c", "a\u205fb", "\u00a0a\u00a0", "\u3000 a", "a   \n   b", "  \t\t x", "a\u180eb", "end\n", "\u2028",
    "user: hi\n\nassistant:", "def f(x):\n    return x\n", "\ta\t\tb",
    # Invisible and control characters.
    "a\u200bb", "a\u200cb\u200dc", "a\ufeffb", "\ufeffstart", "a\u00adb", "a\x00b", "a\x01\x1fb", "a\x7fb\x9f", "a\u2060b", "a\u200e\u200fb",
    "\ufffd", "a\ufffdb", "\u202eabc\u202c", "a\ue000b", "a\U000f0000b", "a\uffffb", "a\u0378b", "\u2581a", "\u2581\u2581", "a\u2581b", "a \u2581 b",
    # Latin.
    "Café naïve façade", "CAFÉ", "e\u0301 is é", "A\u030a Å Å", "Zürich Größe STRASSE ẞ", "İstanbul ISPARTA ıi", "Ǆ ǅ ǆ", "ﬁne ﬂow ﬀ", "Œuvre Æther Øre",
    "ñ n\u0303", "q\u0307\u0323 q\u0323\u0307", "ễ", "đường phố", "ŁÓDŹ", "ſ ſſ it'ſ I'ſ", "K Å", "ⅷ Ⅷ ⅓ ½ ² ₂", "ª º", "ŉ", "ẛ̣", "Ａｂｃ １２３",
    "a\u0300\u0301\u0302\u0303b", "\u0301a", "x\u20dd", "z\u0489",
    # Greek, Cyrillic, Armenian, Georgian.
    "ΟΔΟΣ", "ΟΔΟΣ ΣΑΣ", "Σ", "ὈΔΥΣΣΕΎΣ", "ᾼ ῼ ᾳ", "ΑΣ.Σ", "άλφα", "ΐ ΰ", "Привет МИР", "Ёлка ё", "Й й", "Ѐ Ӑ", "Բարեւ ԵՒ և", "ᲐᲑᲒ აბგ", "Ⴀⴀ",
    # Hebrew, Arabic and related scripts.
    "שלום עולם", "שָׁלוֹם", "ﬠﬡ", "مرحبا بالعالم", "مُحَمَّد", "a ١١", "١٢٣٤", "۱۲۳", "لا ﻻ ﷺ", "ٱلْ", "نستعلیق می\u200cخواهم", "؟،؛", "ܫܠܡܐ", "ދިވެހި", "ߒߞߏ ߁߂",
    # Scripts of India and South-East Asia.
    "नमस्ते दुनिया", "क्षत्रिय", "१२३ ४५", "क़ ड़", "বাংলা ১২", "ਪੰਜਾਬੀ", "ગુજરાતી", "ଓଡ଼ିଆ", "தமிழ்", "తెలుగు", "ಕನ್ನಡ", "മലയാളം", "සිංහල", "ไทย ๑๒", "ลำ ำ", "ລາວ", "བོད་ཡིག", "မြန်မာ", "ភាសា ខ្មែរ", "།༎",
    # East Asia: ideographs of each block, kana, composed and decomposed Hangul.
    "日本語 and 😀 here", "漢字かな交じり文", "中文分词，测试。", "㐀䶵", "𠀀𪛖", "𪜀𫜴𫝀𫠝𫠠𬺡", "𬺰𮯠", "𰀀𱍊", "豈更 丽", "〇〆々", "カタカナ ｶﾀｶﾅ ｶﾞ", "か\u3099 が", "한국어", "각 각", "ㄱㄴ", "㈱ ㌔ ①②", "㋿", "「括弧」・…", "～〜", "注音ㄅㄆ", "𐒰 𐓘",
    # Scripts of Africa, America and other regions.
    "አማርኛ ፩፪", "ⴰⵎⴰⵣⵉⵖ", "ᏣᎳᎩ ꮳꮃꭹ", "ᐃᓄᒃᑎᑐᑦ", "ᚠᚢᚦ ᛫", "ᠮᠣᠩᠭᠣᠯ ᠠ\u180b", "𞤀𞤢", "𝐀𝐛 𝟏𝟐 𝒜", "𐎠𐏐", "𒀀𒑰",
    # Emoji.
    "😀", "a 😀", "😀😀", "👍🏽", "👩\u200d👩\u200d👧", "🏳️\u200d🌈", "❤️ ❤", "🇩🇪🇫🇷🇩", "1️⃣", "☺ ™ © ®", "a😀b",
    # Marks and punctuation that were added to Unicode late.
    "a\u0afab", "a\u1df9b", "a\u061db", "a\u2e4fb", "a\u0c84b", "a\u166db", "a\u08d4b", "\U0001e030\U00010781", "a\U0001e8d0b",
]
