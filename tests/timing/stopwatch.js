// Processor time of a page, which other programs on the machine hardly affect.

/** @import { Page } from 'playwright-core' */

/**
 * Processor time of everything on the page's main thread while something runs, in ms.
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
