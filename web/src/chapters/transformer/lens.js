export { default } from './Lens.svelte';
