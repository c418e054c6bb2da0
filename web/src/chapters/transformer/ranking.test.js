import '../../../../tests/svelte.js';

import assert from 'node:assert/strict';
import test from 'node:test';

const { Ranking } = await import('./ranking.svelte.js');

/** Imitates a model that the reader opened. The test provides its answers. */
function testModel() {
  /** @type {{ options: any, resolve: (answer: any) => void, reject: (error: Error) => void }[]} */
  const questions = [];
  const answer = (/** @type {any} */ _, /** @type {any} */ __, /** @type {any} */ options) =>
    new Promise((resolve, reject) => questions.push({ options, resolve, reject }));
  const model = /** @type {any} */ ({ id: 1, answer });
  return {
    questions,
    ranking: new Ranking(
      () => model,
      () => ({ ids: [1] }),
    ),
  };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('after the reader stops, the answer so far stays and later parts are ignored', async () => {
  const { ranking, questions } = testModel();
  ranking.start();
  const [{ options, resolve }] = questions;
  options.onProgress('one part');
  assert.deepEqual([ranking.isRunning, ranking.answer], [true, 'one part']);
  ranking.stop();
  assert.ok(options.signal.aborted);
  options.onProgress('two parts');
  resolve({ value: 'all parts' });
  await settled();
  assert.deepEqual([ranking.isRunning, ranking.answer], [false, 'one part']);
});

for (const then of /** @type {const} */ (['follow', 'start'])) {
  test(`a problem is forgotten when the question changes or is asked again: ${then}`, async () => {
    const { ranking, questions } = testModel();
    ranking.start();
    questions[0].reject(new Error('the model has ended'));
    await settled();
    assert.match(ranking.problem, /the model has ended/);
    assert.equal(ranking.isRunning, false);
    ranking[then]();
    assert.equal(ranking.problem, '');
  });
}
