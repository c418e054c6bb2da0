import assert from 'node:assert/strict';
import test from 'node:test';

import { becomes, openTestSite } from './site.js';

const site = await openTestSite();

test('kernels are timed on request and agree with doubles, and the run can be stopped', async () => {
  const page = await site.visit('#at=speed');
  const table = page.locator('#engines');
  const row = (/** @type {string} */ engine) => table.locator(`tr[data-engine=${engine}]`);
  await row('javascript').waitFor();
  await becomes(() => table.locator('tr[data-gflops]').count(), 0);

  await table.getByRole('button', { name: 'Run' }).click();
  const second = page.locator('tr[data-engine=simd128][data-difference]');
  await second.waitFor();
  await table.getByRole('button', { name: 'Stop' }).click();
  await table.getByText('Stopped. Earlier results are kept.').waitFor();
  const progress = await table
    .getByRole('progressbar')
    .evaluate((element) => /** @type {HTMLProgressElement} */ (element).value);
  assert.ok(progress > 0 && progress < 1);

  // Results are weighted sums of values of about 1, so they differ by a few roundings.
  for (const engine of ['javascript', 'simd128']) {
    const difference = Number(await row(engine).getAttribute('data-difference'));
    assert.ok(difference > 0 && difference < 2e-6, `${engine}: ${difference}`);
  }

  // Scrolls to the figure, because figures far from the window are not drawn. A pointer over the
  // curve would select another length.
  await page.mouse.move(0, 0);
  await page.locator('#quadratic').scrollIntoViewIfNeeded();
  const circles = page.locator('#quadratic circle[data-x]');
  await circles.first().waitFor();
  const measured = await page.locator('body').evaluate((body) => ({
    header: body.querySelector('#engines thead')?.textContent ?? '',
    gflops: Array.from(body.querySelectorAll('#engines tr[data-engine]'), (row) => [
      row.getAttribute('data-engine'),
      Number(row.getAttribute('data-gflops')),
    ]),
    points: Array.from(body.querySelectorAll('#quadratic circle[data-x]'), (circle) => [
      circle.getAttribute('data-series'),
      Number(circle.getAttribute('data-x')),
      Number(circle.getAttribute('data-y')),
    ]),
  }));
  const length = Number(/N = ([\d,]+)/.exec(measured.header)?.[1].replaceAll(',', ''));
  for (const engine of ['javascript', 'simd128']) {
    const gflops = measured.gflops.find(([name]) => name === engine)?.[1];
    const seconds = measured.points.find(([name, x]) => name === engine && x === length)?.[2];
    const expected = (4 * 8 * length ** 2 * 64) / Number(seconds) / 1e9;
    assert.ok(
      Math.abs(Number(gflops) / expected - 1) < 1e-9,
      `${engine}: ${gflops} of ${expected} at ${length}`,
    );
  }
});

test('the page stays responsive while it measures', async () => {
  const page = await site.visit('#at=speed');
  const table = page.locator('#engines');
  await table.getByRole('button', { name: 'Run' }).click();
  await page.locator('#quadratic').scrollIntoViewIfNeeded();
  await page.locator('#quadratic circle').first().waitFor();
  await page.getByRole('textbox').first().fill('still alive');
  await becomes(() => page.getByRole('textbox').first().inputValue(), 'still alive');
  await table.getByRole('button', { name: 'Stop' }).click();
});
