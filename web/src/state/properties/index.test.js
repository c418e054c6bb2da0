import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import test from 'node:test';

test('no two chapters claim the same setting', async () => {
  const folder = new URL('../../chapters', import.meta.url);
  /** @type {Map<string, string>} */
  const owners = new Map();
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const { properties } = await import(new URL(`${entry.name}/properties.js`, folder).href);
    for (const name of Object.keys(properties)) {
      assert.equal(owners.get(name), undefined, `${name} of ${entry.name}`);
      owners.set(name, entry.name);
    }
  }
});
