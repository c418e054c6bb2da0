// The script of the worker that attn/worker starts by default.

import { serve } from './serve.js';

serve();
