import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

import { hub } from './hub.js';

/** Prints the hosts that the policy allows, and the list of hosts in the page's code. */
const program = `
  const { default: configOf } = await import('./vite.config.js');
  const { plugins, define } = configOf({ command: 'build' });
  const { transformIndexHtml } = plugins.flat().find(({ name }) => name === 'content-security-policy');
  const [{ attrs }] = await transformIndexHtml();
  console.log(JSON.stringify([/connect-src ([^;]*)/.exec(attrs.content)[1], ...Object.values(define)]));
`;

/** @param {Record<string, string>} env */
function built(env) {
  const args = ['--input-type=module', '--eval', program];
  const output = execFileSync(process.execPath, args, {
    cwd: import.meta.dirname,
    env: { ...process.env, ...env },
  });
  return JSON.parse(`${output}`);
}

test('the policy and the page’s code use the same list of hosts', () => {
  const hosts = ["'self'", ...(hub ? [hub.address, ...hub.redirects] : [])];
  assert.deepEqual(built({}), [hosts.join(' '), JSON.stringify(hub)]);
});

test('a page built with ATTN_HUB=off contacts only its own server', () => {
  assert.deepEqual(built({ ATTN_HUB: 'off' }), ["'self'", 'null']);
});
