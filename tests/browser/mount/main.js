import { mount } from 'svelte';

import '../../../web/src/first.css';
import '../../../web/src/drawing/drawing.css';
import '../../../web/src/app.css';
import Figures from './Figures.svelte';

mount(Figures, { target: document.body });
