import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from 'attn';

import { Spelled } from '../../web/src/models/spelled.js';
import { parseSettings } from '../../web/src/state/url.js';
import { becomes, heatmap, matches, openTestSite, readValues, shownValue } from './site.js';

const site = await openTestSite();

const [n, dModel] = [4, 16];
const text = `text=man+bites+dog+man&dModel=${dModel}&heads=2&at=self-attention.edit`;

test('a changed weight has the effect that the layer computes', async () => {
  const link = `${text}&head=1&editMatrix=q&editCell=9.3&editBy=1.5`;
  const page = await site.visit(`#${link}`);
  await becomes(() => shownValue(heatmap(page, /^Numbers of the .* projection/)), 1.5);
  // spelled.test.js compares these numbers with the equations, for each projection.
  const spelled = new Spelled(await load({ threads: 1 }));
  const settings = parseSettings(`v=1&${link}`);
  const given = { ...settings, ...spelled.split(settings.text), rotary: false };
  const sentence = spelled.sentence(given, {});
  const { weights, output } = sentence.edit();
  sentence.dispose();
  for (const [name, data, columns] of /** @type {const} */ ([
    [/^Change of the attention weights of head 2/, weights.data, n],
    [/^Change of the output/, output.data, dModel],
  ])) {
    const map = heatmap(page, name);
    const shown = (await readValues(map, n, columns)).flat();
    await map.dispatchEvent('pointerleave', { pointerType: 'mouse' });
    // Node may not support the browser's instruction set, which rounds differently.
    shown.forEach((change, i) => assert.ok(Math.abs(change - data[i]) < 1e-5, `${name}, ${i}`));
    assert.ok(Math.max(...data.map(Math.abs)) > 1e-4, 'something changes');
  }
});

test('a click selects the weight, the slider changes it, and the link keeps both', async () => {
  const page = await site.visit(`#${text}`);
  const matrix = heatmap(page, /^Numbers of the query projection/);
  const box = /** @type {{ width: number, height: number }} */ (await matrix.boundingBox());
  const position = { x: (5.5 / dModel) * box.width, y: (2.5 / dModel) * box.height };
  await matrix.click({ position });
  const slider = page.getByRole('slider', { name: 'row 2, column 5' });
  await slider.press('ArrowRight');
  await page.waitForURL(/editCell=2\.5.*editBy=1\.05/);
  const copy = await site.visit(new URL(page.url()).hash + '&at=self-attention.edit');
  await copy.getByRole('slider', { name: 'row 2, column 5' }).waitFor();
  await matches(() => copy.locator('#edit output').innerText(), /0 → 1\.05/);
});
