// What the worker of attn/worker runs unless it is given one.

import { serve } from './serve.js';

serve();
