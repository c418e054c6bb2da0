// The page's worker. Each task is a separate module, and this file lists them all.

import { serve } from 'attn/worker/serve';

import { attentionTask } from './tasks/attention.js';
import { editTask } from './tasks/edit.js';
import { fetchedTask } from './tasks/fetched.js';
import { holdTask } from './tasks/hold.js';
import { inventTask } from './tasks/invent.js';
import { languageTask } from './tasks/language.js';
import { measureTask } from './tasks/measure.js';
import { ownTask } from './tasks/own.js';
import { readTask } from './tasks/read.js';
import { shuffleTask } from './tasks/shuffle.js';
import { stagesTask } from './tasks/stages.js';
import { trainTask } from './tasks/train.js';
import { walkTask } from './tasks/walk.js';
import { wallTask } from './tasks/wall.js';

const tasks = [
  ...[
    attentionTask,
    editTask,
    fetchedTask,
    holdTask,
    inventTask,
    languageTask,
    measureTask,
    ownTask,
  ],
  ...[readTask, shuffleTask, stagesTask, trainTask, walkTask, wallTask],
];

serve(Object.fromEntries(tasks.map(({ name, run }) => [name, run])));
