import 'katex/dist/katex.min.css';
import './fonts.css';
import './app.css';
import { mount } from 'svelte';
import App from './App.svelte';

mount(App, { target: /** @type {HTMLElement} */ (document.getElementById('app')) });
