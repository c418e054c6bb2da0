export { default } from './Circuits.svelte';
