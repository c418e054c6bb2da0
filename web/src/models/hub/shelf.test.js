import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import { byName as texts } from '../../texts/hub.js';
import { freeBytes, keptModels, remove, Shelf, withKept } from './shelf.js';

/** @import { Listing } from './listing.js' */

/** A promise that the test resolves. */
function event() {
  /** @type {(value?: unknown) => void} */
  let resolve = () => {};
  const promise = new Promise((done) => (resolve = done));
  return { promise, resolve: () => resolve() };
}

/** Imitates the browser's cache: a cache that has been deleted can still be used, but is empty. */
class FakeCaches {
  /** @type {Map<string, FakeCache>} */
  all = new Map();
  /** The error of each operation that writes. @type {Error | undefined} */
  failure;
  /** The error of each operation. @type {Error | undefined} */
  denial;
  /** Number of operations that have written. */
  writes = 0;

  async keys() {
    if (this.denial) throw this.denial;
    return [...this.all.keys()];
  }

  /** @param {string} name */
  async open(name) {
    if (this.denial) throw this.denial;
    const cache = this.all.get(name) ?? new FakeCache(this);
    this.all.set(name, cache);
    return cache;
  }

  /** @param {string} name */
  async delete(name) {
    this.writes++;
    return this.all.delete(name);
  }
}

class FakeCache {
  /** @type {Map<string, Response>} */
  entries = new Map();
  #caches;

  /** @param {FakeCaches} caches */
  constructor(caches) {
    this.#caches = caches;
  }

  async keys() {
    return [...this.entries.keys()].map((url) => ({ url }));
  }

  /** @param {string} url */
  async match(url) {
    return this.entries.get(url)?.clone();
  }

  /** @param {string} url @param {Response} response */
  async put(url, response) {
    if (this.#caches.failure) throw this.#caches.failure;
    this.#caches.writes++;
    this.entries.set(url, response);
  }
}

/** Imitates `navigator.locks`. */
class FakeLocks {
  /** @type {Map<string, Promise<unknown>>} */
  held = new Map();

  /** @param {string} name @param {any} options @param {(lock: object | null) => any} use */
  async request(name, { ifAvailable, signal }, use) {
    signal?.throwIfAborted();
    if (ifAvailable && this.held.has(name)) return use(null);
    while (this.held.has(name)) {
      await Promise.race([
        this.held.get(name),
        new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
        ),
      ]);
    }
    const end = event();
    this.held.set(name, end.promise);
    try {
      return await use({ name });
    } finally {
      this.held.delete(name);
      end.resolve();
    }
  }
}

let fake = new FakeCaches();
beforeEach(() => {
  fake = new FakeCaches();
  define('caches', fake);
  define('location', { href: 'https://page.test/attn/index.html#at=story' });
  define('navigator', { locks: new FakeLocks() });
});

/** @param {string} name @param {unknown} value */
const define = (name, value) =>
  Object.defineProperty(globalThis, name, { value, configurable: true });

/** @param {string} id @param {string} [revision] @returns {Listing} */
const listingOf = (id, revision = 'a'.repeat(40)) => ({
  ...{ id, revision, size: 12 },
  files: [
    { name: 'config.json', size: 2 },
    { name: 'model é?.safetensors', size: 10 },
  ],
});
const [config, weights] = listingOf('a/b').files.map(({ name }) => name);

const blob = (/** @type {string} */ text) => new Blob([text]);

/** @type {string[]} */
let told = [];
beforeEach(() => void (told = []));

/**
 * @template {object} T
 * @param {Listing} listing
 * @param {(shelf: Shelf) => Promise<T>} use
 * @param {AbortSignal} [signal]
 */
const withShelf = (listing, use, signal = new AbortController().signal) =>
  withKept(
    listing,
    {
      signal,
      onWait: () => void told.push('waits'),
      onFailure: (sentence) => void told.push(sentence),
    },
    use,
  );

/** Keeps a model, or its beginning. @param {Listing} listing @param {string} [bytes] */
const keep = (listing, bytes = '0123456789') =>
  withShelf(listing, async (shelf) => {
    await shelf.add(config, blob('{}'), 'v');
    await shelf.add(weights, blob(bytes.slice(0, 4)), 'v');
    if (bytes.length > 4) await shelf.add(weights, blob(bytes.slice(4)), 'v');
    return shelf;
  });

/** The bytes of a file that the cache contains. @param {Listing} listing */
const keptBytes = async (listing, file = weights) =>
  (
    await withShelf(listing, async (shelf) => ({
      text: await new Blob(shelf.read(file).parts).text(),
    }))
  ).text;

/** Names and sizes of the models in the cache. */
const kept = async () =>
  (await keptModels()).map(({ listing: { id, revision }, have }) => `${id} ${revision[0]} ${have}`);

test('parts in memory are read in order, until they are discarded', async () => {
  const shelf = new Shelf();
  await shelf.add('a', blob('12'), 'v1');
  await shelf.add('a', blob('345'), 'v2');
  await shelf.add('b', blob('6'), 'v1');
  const { parts, size, version } = shelf.read('a');
  assert.equal(await new Blob(parts).text(), '12345');
  assert.deepEqual([size, version, shelf.size, shelf.isKept], [5, 'v2', 6, false]);
  await shelf.discard();
  await shelf.add('a', blob('7'), 'v2');
  assert.deepEqual([shelf.size, shelf.isDiscarded], [0, true]);
});

test('a later run reads the kept parts', async () => {
  const listing = listingOf('a/b');
  await keep(listing, '0123456');
  assert.deepEqual(await kept(), ['a/b a 9']);
  await withShelf(listing, async (shelf) => {
    assert.deepEqual([shelf.size, shelf.isKept], [9, true]);
    const { parts, version } = shelf.read(weights);
    assert.equal(await new Blob(parts).text(), '0123456');
    assert.equal(version, 'v');
    await shelf.add(weights, blob('789'), 'v');
    return shelf;
  });
  assert.deepEqual(await kept(), ['a/b a 12']);
  assert.equal(await keptBytes(listing), '0123456789');
  assert.deepEqual(told, []);
});

test('reading which models are kept changes nothing', async () => {
  await keep(listingOf('a/b'));
  await keep(listingOf('a/c'), '01234');
  const { writes } = fake;
  const names = await fake.keys();
  await kept();
  assert.deepEqual([fake.writes, await fake.keys()], [writes, names]);
});

test('parts after a gap, and parts that do not fit into the file, are ignored', async () => {
  const listing = listingOf('a/b');
  await keep(listing, '0123');
  const [cache] = fake.all.values();
  const key = [...cache.entries.keys()].find((url) => url.endsWith('?0-4')) ?? '';
  cache.entries.set(key.replace('?0-4', '?5-7'), new Response('56'));
  cache.entries.set(key.replace('?0-4', '?4-11'), new Response('4567890'));
  assert.deepEqual(await kept(), ['a/b a 6']);
  assert.equal(await keptBytes(listing), '0123');
  // The size of a part is also checked when the part is read.
  cache.entries.set(key, new Response('012'));
  assert.equal(await keptBytes(listing), '');
});

test('a second tab waits until the first has stopped, and continues there', async () => {
  const listing = listingOf('a/b');
  const [started, stop] = [event(), event()];
  const first = withShelf(listing, async (shelf) => {
    await shelf.add(weights, blob('0123'), 'v');
    started.resolve();
    await stop.promise;
    await shelf.add(weights, blob('45'), 'v');
    return shelf;
  });
  await started.promise;
  /** @type {number[]} */
  const seen = [];
  const second = withShelf(listing, async (shelf) => {
    seen.push(shelf.size);
    return shelf;
  });
  await keep(listingOf('a/other'));
  assert.deepEqual([seen, told], [[], ['waits']]);
  stop.resolve();
  await Promise.all([first, second]);
  assert.deepEqual(seen, [6]);
});

test('a tab that waits can be stopped', async () => {
  const listing = listingOf('a/b');
  const stop = event();
  const first = withShelf(listing, async (shelf) => {
    await stop.promise;
    return shelf;
  });
  const controller = new AbortController();
  const second = withShelf(listing, () => assert.fail('it started'), controller.signal);
  controller.abort();
  await assert.rejects(second, { name: 'AbortError' });
  stop.resolve();
  await first;
});

test('a revision is deleted once a later revision is complete', async () => {
  const [old, next] = [listingOf('a/b'), listingOf('a/b', 'b'.repeat(40))];
  await keep(old);
  await keep(next, '0123');
  assert.deepEqual(await kept(), ['a/b a 12', 'a/b b 6']);
  // Opening the old revision leaves the later revision alone.
  assert.equal(await keptBytes(old), '0123456789');
  assert.deepEqual(await kept(), ['a/b a 12', 'a/b b 6']);
  await withShelf(next, async (shelf) => {
    await shelf.add(weights, blob('456789'), 'v');
    return shelf;
  });
  assert.deepEqual(await kept(), ['a/b b 12']);
});

test('a run that fails deletes no other revision', async () => {
  await keep(listingOf('a/b'));
  const failure = new Error('lost');
  const failed = withShelf(listingOf('a/b', 'b'.repeat(40)), async (shelf) => {
    await shelf.add(config, blob('{}'), 'v');
    throw failure;
  });
  await assert.rejects(failed, failure);
  assert.deepEqual(await kept(), ['a/b a 12', 'a/b b 2']);
});

test('deleting a model does not delete models with similar names', async () => {
  for (const id of ['gpt2', 'gpt2/gpt2', 'gpt2-large', 'my/gpt2']) await keep(listingOf(id));
  await remove(listingOf('gpt2'));
  assert.deepEqual(await kept(), ['gpt2/gpt2 a 12', 'gpt2-large a 12', 'my/gpt2 a 12']);
  await keep(listingOf('gpt2', 'b'.repeat(40)));
  assert.deepEqual((await kept()).length, 4);
});

test('pages in other folders have other models', async () => {
  await keep(listingOf('a/b'));
  define('location', { href: 'https://page.test/attn/next/' });
  assert.deepEqual(await kept(), []);
});

test('a model that is deleted while another tab fetches it does not come back in pieces', async () => {
  const listing = listingOf('a/b');
  const bytes = await withShelf(listing, async (shelf) => {
    await shelf.add(weights, blob('0123'), 'v');
    await remove(listing);
    await shelf.add(weights, blob('456789'), 'v');
    return { text: await new Blob(shelf.read(weights).parts).text() };
  });
  assert.equal(bytes.text, '0123456789');
  assert.deepEqual(await kept(), []);
});

test('discarded parts are deleted from the cache', async () => {
  const listing = listingOf('a/b');
  await withShelf(listing, async (shelf) => {
    await shelf.add(config, blob('{}'), 'v');
    await shelf.discard();
    await shelf.add(config, blob('{}'), 'v');
    return shelf;
  });
  assert.deepEqual(await kept(), []);
});

const failures = {
  QuotaExceededError: texts.noSpace,
  UnknownError: texts.notStored,
};
for (const [name, sentence] of Object.entries(failures)) {
  test(`after a failure of the cache, the rest is in memory: ${name}`, async () => {
    const listing = listingOf('a/b');
    await keep(listing, '0123');
    await withShelf(listing, async (shelf) => {
      fake.failure = Object.assign(new Error(), { name });
      await shelf.add(weights, blob('45'), 'v');
      assert.equal(shelf.isKept, false);
      fake.failure = undefined;
      await shelf.add(weights, blob('6789'), 'v');
      assert.equal(await new Blob(shelf.read(weights).parts).text(), '0123456789');
      return shelf;
    });
    assert.deepEqual(told, [sentence]);
    assert.deepEqual(await kept(), ['a/b a 6']);
  });
}

test('a page that may not store anything fetches into memory', async () => {
  fake.denial = Object.assign(new Error(), { name: 'SecurityError' });
  const shelf = await keep(listingOf('a/b'));
  assert.deepEqual([shelf.size, shelf.isKept, told], [12, false, [texts.notStored]]);
  await assert.rejects(keptModels(), fake.denial);
});

test('the free space is unlimited if the browser does not say', async () => {
  assert.equal(await freeBytes(), Infinity);
  define('navigator', { storage: { estimate: async () => ({ quota: 10, usage: 4 }) } });
  assert.equal(await freeBytes(), 6);
  define('navigator', { storage: { estimate: () => Promise.reject(new Error()) } });
  assert.equal(await freeBytes(), Infinity);
});
