export { default } from './Why.svelte';
export { default as Effects } from './Effects.svelte';
export { default as LayerSwitches } from './LayerSwitches.svelte';
export { default as Silenced } from './Silenced.svelte';
