// Opens recorded links and compares the numbers of their figures with the recorded numbers. After an
// intended change, record them again and review the difference:
//
//   RECORD=1 node --test tests/browser/links.test.js
//   git diff tests/golden/links.txt
//
// The variants of the package give numbers that differ in the last bits. The recorded numbers are
// from SIMD128, the only variant that `npm test` builds.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import test, { after, before } from 'node:test';

import { bert, gpt2, open, recorded as modelOf } from './ownModel.js';
import { becomes, openSite, settled, unfold } from './site.js';

/** @import { Page } from 'playwright-core' */

const golden = new URL('../golden/links.txt', import.meta.url);
const isRecording = Boolean(process.env.RECORD);
const hasRelaxed = existsSync(new URL('../../wasm/dist/attn-relaxed-simd.wasm', import.meta.url));
const skip = hasRelaxed && 'the page would use another variant than SIMD128';

/** @type {import('./site.js').Site} */
let site;
before(async () => (site = await openSite()));
after(async () => {
  await site.close();
  const parts = [...recorded].map((each) => each.flat().join('\n'));
  if (isRecording) writeFileSync(golden, `${parts.join('\n\n')}\n`);
});

const links = [
  // Links of version 1, which show layers that are not trained.
  '#v=1&at=self-attention.pipeline&text=man+bites+dog',
  '#v=1&at=self-attention.weights&text=man+bites+dog&weights=xavier&head=1',
  '#v=1&at=self-attention.weights&causal=1&window=2&validLen=6&blocked=3.1',
  '#v=1&at=self-attention.stages&stageCell=weights.0.0&weights=xavier&seed=4',
  '#v=1&at=self-attention.scale&text=the+cat+sat&weights=xavier&heads=2',
  '#v=1&at=self-attention.edit&weights=xavier&editMatrix=v&editCell=1.2&editBy=0.5',
  '#v=1&at=order.shuffle&shuffle=3',
  '#v=1&at=order.shuffle&text=one+two+three&order=2,0,1&orderCausal=1',
  '#v=1&at=encoding.encoding-heatmap&length=60&width=32&columns=6,7,8,9',
  '#v=1&at=encoding.encoding-heatmap&length=8&width=33&base=4&start=100&step=3',
  '#v=1&at=encoding.encoding-similarity&length=20&width=16',
  '#v=1&at=encoding.encoding-schemes&text=man+bites+dog&heads=2',
  '#v=1&at=rotation.rotation-shift&delta=-1&position=4',
  '#v=1&at=rotation.rotation-rotary&delta=3&position=4&text=the+cat+was+tired',
  '#v=1&at=rotation.rotation-sine',
  '#v=1&at=precision.precision-error&base=500',
  '#v=1&at=precision.precision-bytes&bytesOf=sentence&text=man+bites+dog',
  '#v=1&at=transformer.encoder-block&text=the+cat+sat&dModel=8&heads=2&weights=xavier',
  '#v=1&at=transformer.encoder-block&norm=pre&causal=1&dModel=16&encoding=none',
  '#v=1&at=transformer.encoder-block&norm=pre&seed=3&weights=xavier&window=1&validLen=4',
  '#v=1&at=transformer.decoder-cache&text=the+cat+sat+the&dModel=8&heads=2&weights=xavier',
  '#v=1&at=transformer.decoder-cache&decoderStep=2',
  '#v=1&at=transformer.alignment&source=the+cat&target=die+Katze',
  '#v=1&at=opening.sentence&encoding=none',
  // Links that show the language model.
  '#v=1&at=self-attention.weights&weights=learned&causal=1&layer=1&text=she+sat+by+the+fire',
  '#v=2&at=self-attention.pipeline',
  '#v=2&at=self-attention.weights&layer=3&head=4',
  '#v=2&at=self-attention.weights&encoding=none&causal=0&text=she+was+not+tired',
  '#v=2&at=self-attention.stages&layer=2&head=3',
  '#v=2&at=self-attention.scale&layer=1',
  '#v=2&at=self-attention.edit&editMatrix=k&editCell=3.5&editBy=-1',
  '#v=2&at=self-attention.edit&editMatrix=o&layer=3',
  '#v=2&at=order.shuffle&shuffle=2',
  '#v=2&at=order.order-loss',
  '#v=2&at=transformer.encoder-block&text=the+lady+sat',
  '#v=2&at=transformer.encoder-block&layer=3&head=2&causal=0&encoding=none',
  '#v=2&at=transformer.decoder-cache&decoderStep=3',
  '#v=2&at=transformer.decoder-cache&layer=1&encoding=none&window=2',
  '#v=2&at=transformer.next-word&text=she+sat+by+the',
  '#v=2&at=opening.sentence&layer=3&text=the+lady+sat+by+the+lady',
];

/**
 * Reads the numbers of a figure from the files that its menu offers. Returns a line for each file,
 * with the shape of the numbers in the file and a digest of its bytes.
 * @param {Page} page
 * @param {string} id
 */
const numbersOf = (page, id) =>
  page.evaluate(async (id) => {
    const figure = /** @type {HTMLElement} */ (document.getElementById(id));
    const opener = /** @type {HTMLElement} */ (figure.querySelector('header .opener'));
    const buttons = async () => {
      if (opener.ariaExpanded !== 'true') opener.click();
      await new Promise(requestAnimationFrame);
      return [
        .../** @type {NodeListOf<HTMLElement>} */ (figure.querySelectorAll('header .files button')),
      ];
    };
    const { createObjectURL } = URL;
    const { click } = HTMLAnchorElement.prototype;
    /** @type {Blob[]} */
    const blobs = [];
    /** @type {string[]} */
    const names = [];
    URL.createObjectURL = (blob) => (blobs.push(/** @type {Blob} */ (blob)), '');
    HTMLAnchorElement.prototype.click = function () {
      names.push(this.download);
    };
    const { length } = await buttons();
    for (let i = 0; i < length; i++) {
      const button = (await buttons())[i];
      if (button.textContent?.trim() === 'NPY') button.click();
      await new Promise(requestAnimationFrame);
    }
    if (opener.ariaExpanded === 'true') opener.click();
    Object.assign(URL, { createObjectURL });
    HTMLAnchorElement.prototype.click = click;
    const lines = await Promise.all(
      blobs.map(async (blob, i) => {
        const bytes = await blob.arrayBuffer();
        const shape = /'shape': \(([^)]*)\)/.exec(new TextDecoder('latin1').decode(bytes))?.[1];
        const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
        return `  ${names[i]} (${shape}) ${digest.slice(0, 8).toHex()}`;
      }),
    );
    return lines.sort();
  }, id);

/**
 * Reads until two readings of a settled page are the same.
 * @param {Page} page
 * @param {() => Promise<string[]>} read
 */
async function stable(page, read) {
  for (let before = ''; ; await settled(page)) {
    const found = await read();
    if (found.length && found.join() === before) return found;
    before = found.join();
  }
}

/**
 * Compares the numbers of a figure with the recorded numbers, or records them.
 * @param {string} name
 * @param {Page} page
 * @param {string} id
 */
async function compare(name, page, id) {
  const figure = page.locator(`#${id}`);
  await figure.waitFor({ state: 'attached' });
  await unfold(figure);
  await figure.evaluate((element) => element.scrollIntoView());
  const read = () => numbersOf(page, id);
  if (isRecording) recorded.set(name, await stable(page, read));
  else await becomes(read, recorded.get(name) ?? []);
}

/** @type {Map<string, string[]>} */
const recorded = new Map();
for (const part of readFileSync(golden, 'utf8').trim().split('\n\n')) {
  const [name, ...lines] = part.split('\n');
  recorded.set(name, lines);
}

for (const link of links) {
  test(`the figure of ${link} has the recorded numbers`, { skip }, async () => {
    const id = /** @type {string} */ (/at=[^.]+\.([^&]+)/.exec(link)?.[1]);
    await compare(link, await site.visit(link), id);
  });
}

const ownFigures = {
  ...{
    transformer: ['encoder-block', 'decoder-cache', 'next-word'],
    order: ['shuffle', 'order-loss'],
  },
  ...{ 'self-attention': ['pipeline', 'weights', 'stages', 'edit'], encoding: ['own-positions'] },
};
const ownModels = { gpt2: gpt2(), gemma2: modelOf('gemma2', 29).files, bert: bert() };
for (const [name, files] of Object.entries(ownModels)) {
  test(`the figures of a reader's model have the recorded numbers: ${name}`, { skip }, async () => {
    const page = await site.visit('#text=the+lady+sat+by+the+fire&at=transformer.encoder-block');
    await open(page, files);
    for (const [chapter, figures] of Object.entries(ownFigures)) {
      await page.evaluate((id) => document.getElementById(id)?.scrollIntoView(), chapter);
      await page.locator(`[data-chapter][data-loaded][id="${chapter}"]`).waitFor();
      for (const id of figures) {
        if (name === 'bert' && /cache|next|loss|positions/.test(id)) continue;
        await compare(`${name} ${id}`, page, id);
      }
    }
  });
}
