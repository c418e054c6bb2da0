import 'katex/dist/katex.min.css';
import './fonts.css';
import './drawing/drawing.css';
import './app.css';
import { mount } from 'svelte';
import App from './App.svelte';

const target = /** @type {HTMLElement} */ (document.getElementById('app'));
const [view] = target.children;
if (typeof WebAssembly === 'object') {
  mount(App, { target });
  view?.remove();
} else {
  document.getElementById('first-wasm')?.removeAttribute('hidden');
  document.getElementById('first-loading')?.setAttribute('hidden', '');
}
