// Measures the processor time of a page. Other programs on the machine hardly affect it.

/** @import { Page } from 'playwright-core' */

/**
 * Returns a function that measures the processor time of the page's main thread while an action
 * runs, in ms.
 * @param {Page} page
 */
export async function stopwatch(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const taken = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? NaN);
  };
  return async (/** @type {() => Promise<unknown>} */ action) => {
    const start = await taken();
    await action();
    return (await taken()) - start;
  };
}
