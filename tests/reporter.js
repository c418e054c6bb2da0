// A reporter for Node's test runner. After each test it prints the numbers of passed, failed and
// skipped tests as JSON. The suite runner shows these numbers as progress and uses the last line as
// the result.

/** @import { TestEvent } from 'node:test/reporters' */

/** @param {AsyncIterable<TestEvent>} events */
export default async function* count(events) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for await (const event of events) {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const { details, skip, todo } = event.data;
    if (details.type === 'suite') continue;
    if (skip !== undefined || todo !== undefined) counts.skipped += 1;
    else counts[event.type === 'test:pass' ? 'passed' : 'failed'] += 1;
    yield `${JSON.stringify(counts)}\n`;
  }
}
