export { default } from './Why.svelte';
