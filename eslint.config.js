import js from '@eslint/js';
import svelte from 'eslint-plugin-svelte';
import globals from 'globals';

export default [
  { ignores: ['build/', '**/dist/'] },
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
    // What the page computes and remembers does not know how it is shown.
    files: ['web/src/{core,models,state,work}/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        { patterns: ['**/chapters/**', '**/figures/**', '**/frame/**', '**/story/**'] },
      ],
    },
  },
];
