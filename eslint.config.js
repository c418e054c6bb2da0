import js from '@eslint/js';
import svelte from 'eslint-plugin-svelte';
import globals from 'globals';

/** Words, but not names that every language writes the same way. */
const kWords = '/^(?!\\s*(?:attn|JavaScript|Esc)\\s*$).*\\p{Ll}{2}/su';

/** Attributes and properties that are shown or read aloud. */
const kShown =
  'SvelteAttribute[key.name=/^(?:title|alt|placeholder|label|hint|axis|rowName|columnName|aria-(?:label|description|roledescription|valuetext))$/]';

export default [
  { ignores: ['build/', '**/dist/', 'tests/clients/attn-test-*/'] },
  js.configs.recommended,
  ...svelte.configs.recommended,
  ...svelte.configs.prettier,
  {
    languageOptions: { globals: { ...globals.browser, ...globals.node } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      eqeqeq: 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      'object-shorthand': 'error',
    },
  },
  {
    // Runes are declared with let, though nobody assigns to them.
    files: ['**/*.svelte', '**/*.svelte.js'],
    rules: { 'prefer-const': 'off', 'svelte/prefer-const': 'error' },
  },
  {
    // Texts are in web/src/texts, where a translator finds all of them.
    files: [
      'web/src/*.svelte',
      'web/src/{chapters,controls,figures,frame,invention,measurement,story,training}/**',
    ],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...[
          // Words between tags, and in attributes that readers see or hear.
          `:not(SvelteStyleElement) > SvelteText[value=${kWords}]`,
          `${kShown} > SvelteLiteral[value=${kWords}]`,
          // Words in expressions at these places.
          ...[
            ':not(SvelteAttribute, SvelteStyleDirective) > SvelteMustacheTag[kind=text]',
            kShown,
          ].flatMap((place) => [
            `${place} TemplateElement[value.cooked=${kWords}]`,
            `${place} ConditionalExpression > Literal:not(.test)[value=${kWords}]`,
          ]),
        ].map((selector) => ({ selector, message: 'Move this text to web/src/texts.' })),
      ],
    },
  },
];
