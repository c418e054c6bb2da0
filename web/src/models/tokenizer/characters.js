// Character classes as in the library `tokenizers`. The library's tables of marks and punctuation
// follow Unicode 8 to 11, while browsers follow the newest version. The characters that only
// browsers know are listed here. tests/tokenizers compares every code point with the library.

const laterNonspacing =
  '\\u07fd\\u0897-\\u08e1\\u09fe\\u0afa-\\u0aff\\u0b55\\u0c04-\\u0c3c\\u0d00\\u0d3b-\\u0d3c\\u0d81\\u0eba\\u0ece\\u180f-\\u1886\\u1abf-\\u1aeb\\u1df6-\\u1dfb\\ua82c\\ua8c5\\ua8ff\\ua9bd\\u{10d24}-\\u{10f85}\\u{11070}-\\u{11074}\\u{110c2}\\u{111c9}\\u{111cf}\\u{1123e}-\\u{11241}\\u{1133b}\\u{113bb}-\\u{1145e}\\u{1182f}-\\u{11f5a}\\u{13440}-\\u{13455}\\u{1611e}-\\u{1612f}\\u{16f4f}\\u{16fe4}\\u{1cf00}-\\u{1cf46}\\u{1e000}-\\u{1e6f5}\\u{1e944}-\\u{1e94a}';
const laterMarks =
  '\\u07fd\\u0897-\\u08d3\\u09fe\\u0afa-\\u0aff\\u0b55\\u0c04-\\u0c3c\\u0cf3-\\u0d00\\u0d3b-\\u0d3c\\u0d81\\u0eba\\u0ece\\u1715\\u180f\\u1abf-\\u1aeb\\u1cf7\\u1df6-\\u1dfa\\ua82c\\ua8ff\\u{10d24}-\\u{10f85}\\u{11070}-\\u{11074}\\u{110c2}\\u{11145}-\\u{11146}\\u{111c9}\\u{111ce}-\\u{111cf}\\u{11241}\\u{1133b}\\u{113b8}-\\u{113e2}\\u{1145e}\\u{1182c}-\\u{11b67}\\u{11d31}-\\u{11f5a}\\u{13440}-\\u{13455}\\u{1611e}-\\u{1612f}\\u{16f4f}\\u{16f7f}-\\u{16f87}\\u{16fe4}-\\u{16ff1}\\u{1cf00}-\\u{1cf46}\\u{1e08f}-\\u{1e6f5}';
const laterPunctuation =
  '\\u061d\\u09fd-\\u0a76\\u0c77-\\u0c84\\u1b4e-\\u1b4f\\u1b7d-\\u1b7f\\u2e43-\\u2e5d\\u{10d6e}-\\u{10f89}\\u{113d4}-\\u{1145d}\\u{11660}-\\u{116b9}\\u{1183b}-\\u{11fff}\\u{12ff1}-\\u{12ff2}\\u{16d6d}-\\u{16fe2}\\u{1e5ff}-\\u{1e95f}';
const laterForms =
  '\\u32ff\\ua7f1-\\ua7f4\\uab69\\u{105c9}-\\u{107ba}\\u{11383}-\\u{113c8}\\u{11938}\\u{16121}-\\u{16d6a}\\u{1ccd6}-\\u{1ccf9}\\u{1e030}-\\u{1e06d}\\u{1f16c}\\u{1fbf0}-\\u{1fbf9}';
const laterScripts =
  '\\u0020\\u0560\\u0588\\u05ef\\u061d\\u07fd-\\u07ff\\u0860-\\u089f\\u08b5\\u08be-\\u08d3\\u09fc-\\u09fe\\u0a76\\u0afa-\\u0aff\\u0b55\\u0c04\\u0c3c\\u0c5c-\\u0c5d\\u0c77\\u0c84\\u0cdc-\\u0cdd\\u0cf3-\\u0d00\\u0d04\\u0d3b-\\u0d3c\\u0d81\\u0e86\\u0e89\\u0e8c\\u0e8e-\\u0e93\\u0e98\\u0ea0\\u0ea8-\\u0ea9\\u0eac\\u0eba\\u0ece\\u170d\\u1715-\\u171f\\u180f\\u1878\\u1abf-\\u1aeb\\u1b4c-\\u1b4f\\u1b7d-\\u1b7f\\u1c89-\\u1cbf\\u1cf7\\u1cfa\\u1df6-\\u1dfa\\u20bf-\\u20c1\\u23ff\\u2427-\\u2429\\u2b96-\\u2b97\\u2bba-\\u2bbc\\u2bc9\\u2bd2-\\u2beb\\u2bf0-\\u2bff\\u2c2f\\u2c5f\\u2e45-\\u2e5d\\u2ffc-\\u2fff\\u312e-\\u312f\\u31bb-\\u31bf\\u31e4-\\u31ef\\u32ff\\u4db6-\\u4dbf\\u9fd6-\\u9fff\\ua7af\\ua7b8-\\ua7f6\\ua82c\\ua8fe-\\ua8ff\\uab66-\\uab6b\\ufbc2-\\ufbd2\\ufd40-\\ufd4f\\ufd90-\\ufd91\\ufdc8-\\ufdcf\\ufdfe-\\ufdff\\u{1019c}\\u{1032d}-\\u{1032f}\\u{10780}-\\u{107ba}\\u{10a34}-\\u{10a35}\\u{10a48}\\u{10ec2}-\\u{10eff}\\u{11070}-\\u{11075}\\u{110c2}-\\u{110cd}\\u{11144}-\\u{11147}\\u{111ce}-\\u{111cf}\\u{1123f}-\\u{11241}\\u{1133b}\\u{1145a}\\u{1145e}-\\u{11461}\\u{116b8}-\\u{116b9}\\u{116d0}-\\u{116e3}\\u{1171a}\\u{11740}-\\u{11746}\\u{11ab0}-\\u{11abf}\\u{11b00}-\\u{11b67}\\u{11fb0}-\\u{11fff}\\u{1342f}-\\u{143fa}\\u{16f45}-\\u{16f4f}\\u{16f7f}-\\u{16f87}\\u{16fe2}-\\u{16ff6}\\u{187ed}-\\u{187ff}\\u{18af3}-\\u{1affe}\\u{1b002}-\\u{1b167}\\u{1cc00}-\\u{1cfc3}\\u{1d1e9}-\\u{1d1ea}\\u{1d2c0}-\\u{1d2f3}\\u{1d372}-\\u{1d378}\\u{1df00}-\\u{1df2a}\\u{1e030}-\\u{1e7fe}\\u{1e94b}\\u{1ec71}-\\u{1ed3d}\\u{1f10d}-\\u{1f10f}\\u{1f12f}\\u{1f16c}-\\u{1f16f}\\u{1f1ad}\\u{1f260}-\\u{1f265}\\u{1f6d3}-\\u{1f6df}\\u{1f6f7}-\\u{1f6fc}\\u{1f774}-\\u{1f77f}\\u{1f7d5}-\\u{1f7f0}\\u{1f8b0}-\\u{1f90f}\\u{1f91f}\\u{1f928}-\\u{1f92f}\\u{1f931}-\\u{1f932}\\u{1f93f}\\u{1f94c}-\\u{1f94f}\\u{1f95f}-\\u{1f97f}\\u{1f992}-\\u{1f9bf}\\u{1f9c1}-\\u{1fbfa}\\u{2a6d7}-\\u{2a6df}\\u{2b735}-\\u{2b73f}\\u{2cea2}-\\u{2ee5d}\\u{30000}-\\u{33479}';

const white = '\\p{White_Space}';
const ascii = '!-\\/:-@\\[-`{-~';

/** Matches one punctuation mark. */
export const punctuation = new RegExp(
  `[${ascii}]|\\u166d|\\u{111c9}|(?![${laterPunctuation}])\\p{P}`,
  'gu',
);

/** Matches one combining mark of any kind. */
export const mark = new RegExp(`[\\u1cf2\\u1cf3]|(?![${laterMarks}])\\p{M}`, 'gu');

/** Matches one nonspacing mark. */
export const nonspacingMark = new RegExp(
  `[\\u1734\\u{1171e}]|(?![${laterNonspacing}])\\p{Mn}`,
  'gu',
);

/** Matches one character that a BERT tokenizer drops. */
export const control = new RegExp(
  '[\\0\\ufffd]|(?![\\t\\n\\r\\u0890\\u0891\\u08e2\\u{110cd}\\u{13430}-\\u{1343f}])[\\p{Cc}\\p{Cf}\\p{Co}]',
  'gu',
);

/** Matches one white-space character. Unlike `\s`, includes U+0085 and excludes U+FEFF. */
export const space = /\p{White_Space}/gu;

/** Matches leading white space. */
export const spaceAtStart = /^\p{White_Space}+/u;

/** The contents of a character class equivalent to Rust's `\w`. */
export const wordClass = '\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}';

/** Matches words, and runs of other characters between white space. */
export const words = new RegExp(`[${wordClass}]+|[^${wordClass}${white}]+`, 'gu');

const later = new RegExp(`([${laterForms}]+)`, 'u');

/**
 * Normalizes a text. Characters whose decomposition the library does not know stay unchanged.
 * @param {string} text
 * @param {'NFC' | 'NFD' | 'NFKC' | 'NFKD'} form
 */
export const normalized = (text, form) =>
  text
    .split(later)
    .map((part, i) => (i % 2 ? part : part.normalize(form)))
    .join('');

/** The scripts that the library distinguishes. Hiragana and Katakana count as Han. */
const scripts =
  'Adlm Aghb Ahom Arab Armi Armn Avst Bali Bamu Bass Batk Beng Bhks Bopo Brah Brai Bugi Buhd Cakm Cans Cari Cham Cher Copt Cprt Cyrl Deva Dsrt Dupl Egyp Elba Ethi Geor Glag Goth Gran Grek Gujr Guru Hang Hani Hano Hatr Hebr Hluw Hmng Hung Ital Java Kali Khar Khmr Khoj Knda Kthi Lana Laoo Latn Lepc Limb Lina Linb Lisu Lyci Lydi Mahj Mand Mani Marc Mend Merc Mero Miao Mlym Modi Mong Mroo Mtei Mult Mymr Narb Nbat Newa Nkoo Ogam Olck Orkh Orya Osge Osma Palm Pauc Perm Phag Phli Phlp Phnx Prti Qaai Rjng Runr Samr Sarb Saur Sgnw Shaw Shrd Sidd Sind Sinh Sora Sund Sylo Syrc Tagb Takr Tale Talu Taml Tang Tavt Telu Tfng Tglg Thaa Thai Tibt Tirh Ugar Vaii Wara Xpeo Xsux Yiii Zyyy'
    .split(' ')
    .map((script) => ({
      script,
      letter: new RegExp(
        script === 'Hani' ? '[\\p{sc=Hani}\\p{sc=Hira}\\p{sc=Kana}]' : `\\p{sc=${script}}`,
        'u',
      ),
    }));
// eslint-disable-next-line no-misleading-character-class -- the marks are separate members
const laterScript = new RegExp(`[${laterScripts}]`, 'u');

/**
 * Caches the scripts of characters. The initial entries differ from Unicode's scripts.
 * @type {Map<string, string>}
 */
const scriptsOf = new Map([
  [' ', ''],
  ['\u30fc', 'Hani'],
  ['\u0589', 'Zyyy'],
  ['\u061c', 'Zyyy'],
  ['\u0953', 'Deva'],
  ['\u0954', 'Deva'],
]);

/**
 * The script of a character, or '' if it goes with any script.
 * @param {string} letter
 */
export function scriptOf(letter) {
  let script = scriptsOf.get(letter);
  if (script === undefined) {
    const found = laterScript.test(letter)
      ? null
      : scripts.find((each) => each.letter.test(letter));
    script = found?.script ?? '';
    scriptsOf.set(letter, script);
  }
  return script;
}

/** @param {string} text */
export function withoutSpaceAtEnd(text) {
  // A pattern such as /\s+$/ would rescan a run of white space from each of its characters.
  let end = text.length;
  while (end > 0 && isSpace(text[end - 1])) end -= 1;
  return text.slice(0, end);
}

/** @param {string} character */
const isSpace = (character) => /^\p{White_Space}$/u.test(character);
