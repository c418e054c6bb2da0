export { default } from './NextWord.svelte';
