import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, beforeEach, test } from 'node:test';

import { Hub } from '../../../../tests/hub.js';
import { sizeOf } from '../../texts/hub.js';
import { fetchFiles } from './fetching.js';
import { filesToFetch, idOf, listFiles } from './listing.js';
import { Shelf } from './shelf.js';

/** @import { Options } from './fetching.js' */

const hub = await Hub.start();
after(() => hub.close());

/** A .safetensors file whose bytes after the header count up. @param {number} size */
function weightsOf(size) {
  const header = JSON.stringify({
    a: { dtype: 'F32', shape: [size], data_offsets: [0, 4 * size] },
  });
  const bytes = new Uint8Array(8 + header.length + 4 * size).map((_, i) => i % 251);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(header.length), true);
  bytes.set(new TextEncoder().encode(header), 8);
  return bytes;
}

const json = new TextEncoder().encode('{}');
const files = {
  'README.md': json,
  'config.json': json,
  'tokenizer.json': json,
  'model.safetensors': weightsOf(100_000),
};
const sharded = {
  'config.json': json,
  'tokenizer.json': json,
  'model.safetensors.index.json': json,
  'model-00001-of-00002.safetensors': weightsOf(50),
  'model-00002-of-00002.safetensors': weightsOf(60),
  'consolidated.safetensors': weightsOf(10),
};

beforeEach(() => {
  hub.reset();
  hub.models = {
    'some-owner/a.model_1': { files },
    'some-owner/old-name': { files: {}, id: 'some-owner/a.model_1' },
    'some-owner/in-parts': { files: sharded },
    'some-owner/gated': { files, gated: 'manual' },
  };
});

const net = () => ({ address: hub.address, signal: new AbortController().signal });
const wait = async () => {};

/** Ends the stopped connections when `done` is one of the given numbers of bytes. */
const cutAt =
  (/** @type {number[]} */ ...all) =>
  (/** @type {number} */ done) => {
    if (all.includes(done)) hub.cut();
  };

const listed = () => listFiles('some-owner/a.model_1', net());

/** @param {Record<string, Uint8Array>} wanted @param {File[]} got */
async function assertSame(wanted, got) {
  assert.deepEqual(
    got.map(({ name }) => name),
    Object.keys(wanted),
  );
  for (const file of got) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    assert.ok(Buffer.from(wanted[file.name]).equals(bytes), file.name);
  }
}

/** @param {Record<string, Uint8Array>} all @param {string} unneeded */
const without = (all, unneeded) =>
  Object.fromEntries(Object.entries(all).filter(([name]) => name !== unneeded));
const needed = without(files, 'README.md');

test('names and addresses of models are understood', () => {
  const cases = {
    'owner/model': 'owner/model',
    ' gpt2 ': 'gpt2',
    'https://hub.test/owner/model': 'owner/model',
    'https://hub.test/owner/model/tree/main?x#y': 'owner/model',
    'hub.test/owner/model/': 'owner/model',
  };
  for (const [given, id] of Object.entries(cases))
    assert.equal(idOf('https://hub.test', given), id);
  for (const given of ['', 'a/b/c', '../b', 'a/..', 'a b', '<b>/c', 'a/b?c', 'https://hub.test/']) {
    assert.throws(
      () => idOf('https://hub.test', given),
      /Type a name such as .* on hub\.test/,
      given,
    );
  }
  assert.throws(() => idOf('https://hub.test', 'https://other.test/a/b'), /only from hub\.test/);
});

test('file sizes have a suitable unit', () => {
  assert.deepEqual([700, 66_000, 2_340_000, 548_105_171, 5e9].map(sizeOf), [
    '< 1\u00a0kB',
    '66\u00a0kB',
    '2.3\u00a0MB',
    '548\u00a0MB',
    '5.00\u00a0GB',
  ]);
});

test('the files of a model are listed with their sizes before any is fetched', async () => {
  const listing = await listed();
  assert.equal(listing.id, 'some-owner/a.model_1');
  assert.deepEqual(
    listing.files,
    Object.entries(needed).map(([name, content]) => ({
      ...{ name, size: content.length },
      ...(name === 'model.safetensors' && {
        sha256: createHash('sha256').update(content).digest('hex'),
      }),
    })),
  );
  assert.equal(listing.size, 4 + files['model.safetensors'].length);
  assert.deepEqual(
    hub.asked.map(({ url }) => url),
    ['/api/models/some-owner/a.model_1?blobs=true'],
  );
});

test('a renamed model is found under its old name', async () => {
  assert.equal((await listFiles('some-owner/old-name', net())).id, 'some-owner/a.model_1');
});

test('weights in several files are fetched with their index, without other weights', async () => {
  const wanted = without(sharded, 'consolidated.safetensors');
  const listing = await listFiles('some-owner/in-parts', net());
  await assertSame(wanted, await fetchFiles(listing, new Shelf(), net()));
});

test('a model that lacks a file is rejected before anything is fetched', () => {
  const choose = (/** @type {string[]} */ ...names) =>
    filesToFetch(
      'o/m',
      names.map((name) => ({ name, size: 1 })),
    );
  const [config, tokenizer] = ['config.json', 'tokenizer.json'];
  assert.throws(
    () => choose(config, tokenizer, 'pytorch_model.bin'),
    /no \.safetensors file.* T5 or Marian, AutoModelForSeq2SeqLM\n\nfrom transformers .*\n.*from_pretrained\("o\/m"\).*\n.*"converted"\)$/,
  );
  assert.throws(
    () => choose(config, 'model.safetensors'),
    /no tokenizer\.json.*For Marian, look for .*\n\nfrom/,
  );
  assert.throws(() => choose(tokenizer, 'model.safetensors'), /no config\.json/);
  assert.throws(
    () => choose(config, tokenizer, 'a.safetensors', 'b.safetensors'),
    /several \.safetensors files \(a\.safetensors, b\.safetensors\)/,
  );
  assert.throws(() => choose(config, tokenizer, 'adapter_model.safetensors'), /no \.safetensors/);
  assert.throws(() => choose(config, tokenizer, 'onnx/model.safetensors'), /no \.safetensors/);
});

/** @type {Record<string, (siblings: any[]) => object>} */
const unexpected = {
  'a file that is null': () => ({ siblings: [null] }),
  'a file without a name': (siblings) => ({ siblings: [...siblings, { size: 1 }] }),
  'a file without a size': (siblings) => ({
    siblings: siblings.map(({ rfilename }) => ({ rfilename })),
  }),
  'an empty file': (siblings) => ({ siblings: siblings.map((each) => ({ ...each, size: 0 })) }),
  'a size that is text': (siblings) => ({
    siblings: siblings.map((each) => ({ ...each, size: '1' })),
  }),
  'two files with one name': (siblings) => ({ siblings: [...siblings, siblings[1]] }),
  'no list of files': () => ({ siblings: {} }),
  'a list of commits': () => ({ sha: ['a'.repeat(40)] }),
  'a path as the commit': () => ({ sha: '../main' }),
  'a path as the name': () => ({ id: '../a' }),
  'a list of names': () => ({ id: ['some-owner/a.model_1'] }),
};
for (const [what, answerOf] of Object.entries(unexpected)) {
  test(`an unexpected list of files is rejected: ${what}`, async () => {
    const siblings = Object.entries(files).map(([rfilename, { length: size }]) => ({
      rfilename,
      size,
    }));
    hub.models['some-owner/a.model_1'].answer = answerOf(siblings);
    await assert.rejects(listed(), /without a list of files that this page understands/);
  });
}

test('a model that is too large for WebAssembly is rejected', async () => {
  const siblings = Object.keys(files).map((rfilename) => ({ rfilename, size: 9e15 }));
  hub.models['some-owner/a.model_1'].answer = { siblings };
  await assert.rejects(listed(), /more than a page can open\. Choose a smaller model/);
});

test('errors explain unknown and gated models', async () => {
  await assert.rejects(listFiles('some-owner/nothing', net()), /no public model named .*nothing/);
  await assert.rejects(listFiles('some-owner/gated', net()), /signed in .* accepted .* terms/);
  const listing = { ...(await listed()), id: 'some-owner/gated' };
  await assert.rejects(fetchFiles(listing, new Shelf(), net(), { wait }), /signed in/);
});

test('an error explains that a server cannot be reached', async () => {
  const offline = { ...net(), address: 'http://127.0.0.1:1' };
  await assert.rejects(listFiles('a/b', offline), /could not be reached\. Check your connection/);
  const forbidden = { ...offline, isForbidden: async () => true };
  await assert.rejects(listFiles('a/b', forbidden), /not allowed to contact/);
});

test('a model is fetched in ranges, from the server that the hub redirects to', async () => {
  const listing = await listed();
  /** @type {number[]} */
  const progress = [];
  /** @type {File[]} */
  let checked = [];
  const got = await fetchFiles(listing, new Shelf(), net(), {
    onProgress: (done) => progress.push(done),
    check: async (headers) => void (checked = headers),
  });
  await assertSame(needed, got);
  const { size } = listing.files[2];
  assert.deepEqual(hub.ranges, ['bytes=0-131071', `bytes=131072-${size - 1}`]);
  assert.equal(progress.at(-1), listing.size);
  assert.ok(progress.every((done, i) => i === 0 || done > progress[i - 1]));
  // Before the rest of the weights is fetched, the check sees the header and zeros.
  assert.equal(checked[2].size, size);
  const bytes = new Uint8Array(await checked[2].arrayBuffer());
  assert.ok(
    Buffer.from(bytes.subarray(0, 131072)).equals(files['model.safetensors'].subarray(0, 131072)),
  );
  assert.ok(bytes.subarray(131072).every((byte) => byte === 0));
});

test('a long header is fetched completely before the check', async () => {
  const header = new Uint8Array(300_000).fill(32);
  const long = new Uint8Array(400_000).fill(7);
  new DataView(long.buffer).setBigUint64(0, BigInt(header.length), true);
  long.set(header, 8);
  hub.models['o/long'] = { files: { ...files, 'model.safetensors': long } };
  const listing = await listFiles('o/long', net());
  const stop = new Error('not supported');
  await assert.rejects(
    fetchFiles(listing, new Shelf(), net(), { check: () => Promise.reject(stop) }),
    stop,
  );
  assert.deepEqual(hub.ranges, ['bytes=0-131071', 'bytes=131072-300007']);
});

test('after a lost connection, the download continues where it stopped', async () => {
  const listing = await listed();
  hub.faults = { stallAfter: [1000, Infinity, 5000], statuses: [0, 0, 503], drops: 1 };
  /** @type {number[]} */
  const pauses = [];
  const got = await fetchFiles(listing, new Shelf(), net(), {
    wait,
    onWait: (seconds) => void pauses.push(seconds),
    onProgress: cutAt(1004, 131072 + 5004),
  });
  await assertSame(needed, got);
  const { size } = listing.files[2];
  assert.deepEqual(hub.ranges, [
    ...['bytes=0-131071', 'bytes=0-131071', 'bytes=1000-131071'],
    ...[`bytes=131072-${size - 1}`, `bytes=131072-${size - 1}`, `bytes=136072-${size - 1}`],
  ]);
  assert.deepEqual(pauses, [1, 1, 1, 1]);
});

test('a connection that delivers nothing for half a minute is replaced', async (t) => {
  const listing = await listed();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  hub.faults = { stallAfter: [2000] };
  const got = await fetchFiles(listing, new Shelf(), net(), {
    wait,
    onProgress: (done) => done === 2004 && t.mock.timers.tick(30_000),
  });
  await assertSame(needed, got);
  assert.ok(hub.ranges.includes('bytes=2000-131071'), String(hub.ranges));
});

test('after several lost connections, the bytes that arrived stay and the download can continue', async () => {
  const listing = await listed();
  const shelf = new Shelf();
  hub.faults = { stallAfter: [3000] };
  const failed = fetchFiles(listing, shelf, net(), {
    wait,
    onProgress: cutAt(3004),
    onWait: () => (hub.faults.drops = 9),
  });
  await assert.rejects(failed, /could not be reached|lost several times while model\.safetensors/);
  assert.equal(shelf.read('model.safetensors').size, 3000);
  hub.reset();
  await assertSame(needed, await fetchFiles(listing, shelf, net(), { wait }));
  assert.equal(hub.ranges[0], 'bytes=3000-131071');
});

/** @type {[string, import('../../../../tests/hub.js').Faults, RegExp][]} */
const changes = [
  [
    'a file whose ETag has changed',
    { stallAfter: [5000], etags: ['"1"', '"2"'] },
    /changed on the server/,
  ],
  ['a server that ignores ranges', { stallAfter: [5000], ignoresRanges: true }, /cannot continue/],
];
for (const [what, faults, message] of changes) {
  test(`after a lost connection, two versions are not mixed: ${what}`, async () => {
    const listing = await listed();
    const shelf = new Shelf();
    hub.faults = faults;
    const options = { wait, onProgress: cutAt(5004) };
    await assert.rejects(fetchFiles(listing, shelf, net(), options), message);
    assert.ok(shelf.isDiscarded);
    assert.equal(shelf.size, 0);
  });
}

test('a file whose size differs from the listed size is rejected', async () => {
  for (const size of [99_000, 101_000]) {
    const listing = await listed();
    hub.models['some-owner/a.model_1'] = {
      files: { ...files, 'model.safetensors': weightsOf(size) },
    };
    const failed = fetchFiles(listing, new Shelf(), net(), { wait });
    await assert.rejects(failed, /changed on the server/);
    hub.models['some-owner/a.model_1'] = { files };
  }
});

test('a file whose hash differs from the listed hash is rejected', async () => {
  const listing = await listed();
  const shelf = new Shelf();
  const [first, ...others] = listing.files.toReversed();
  const damaged = { ...listing, files: [...others, { ...first, sha256: 'f'.repeat(64) }] };
  await assert.rejects(fetchFiles(damaged, shelf, net(), { wait }), /safetensors is damaged: /);
  assert.ok(shelf.isDiscarded);
});

test('a server that sends only whole files works if no connection is lost', async () => {
  const listing = await listed();
  hub.faults = { ignoresRanges: true };
  await assertSame(needed, await fetchFiles(listing, new Shelf(), net(), { wait }));
});

/** @type {[string, number, RegExp][]} */
const statuses = [
  ['too many requests', 429, /Wait five minutes/],
  ['a missing file', 404, /no longer has the file model\.safetensors/],
  ['a server error', 500, /answered with error 500\. Try again later/],
];
for (const [what, status, message] of statuses) {
  test(`${what}: the error says what to do`, async () => {
    const listing = await listed();
    hub.faults = { statuses: Array(9).fill(status) };
    await assert.rejects(fetchFiles(listing, new Shelf(), net(), { wait }), message);
  });
}

test('nothing is requested after a cancellation', async () => {
  const listing = await listed();
  hub.reset();
  const cancelled = { ...net(), signal: AbortSignal.abort() };
  await assert.rejects(fetchFiles(listing, new Shelf(), cancelled), { name: 'AbortError' });
  assert.deepEqual(hub.asked, []);
});

test('fetching can be cancelled, and the connection is closed', async () => {
  const listing = await listed();
  hub.faults = { pauseMs: 5 };
  const controller = new AbortController();
  const shelf = new Shelf();
  /** @type {Options} */
  const options = { onProgress: (done) => done > 20_000 && controller.abort() };
  const fetching = fetchFiles(listing, shelf, { ...net(), signal: controller.signal }, options);
  await assert.rejects(fetching, { name: 'AbortError' });
  assert.ok(shelf.read('model.safetensors').size >= 19_000);
});
