export { default } from './Cut.svelte';
