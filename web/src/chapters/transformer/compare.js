export { default } from './Compare.svelte';
