import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import test from 'node:test';

import { shared } from './index.js';

test('every setting belongs to one chapter or is shared', async () => {
  /** @type {Map<string, string>} */
  const owners = new Map(Object.keys(shared).map((name) => [name, 'index.js']));
  for (const file of readdirSync(new URL('.', import.meta.url))) {
    if (file.endsWith('.test.js') || file === 'index.js' || file === 'property.js') continue;
    const { properties } = await import(new URL(file, import.meta.url).href);
    for (const name of Object.keys(properties)) {
      assert.equal(owners.get(name), undefined, `${name} of ${file}`);
      owners.set(name, file);
    }
  }
  assert.ok(owners.size > 50);
});
