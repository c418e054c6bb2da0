export { default } from './Loss.svelte';
