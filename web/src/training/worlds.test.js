import assert from 'node:assert/strict';
import { before, test } from 'node:test';

import { load } from 'attn';

import { dayIn, daysOf, spellings } from './dates.js';
import { exampleOf, longerWorld, ignored, Source, tokensOf, worlds } from './worlds.js';

/** @typedef {import('./worlds.js').WorldName} WorldName */

/** @type {import('attn').Attn} */
let attn;
before(async () => (attn = await load({ threads: 1 })));

/** @param {Int32Array} tokens @param {WorldName} name */
const written = (tokens, name) =>
  Array.from(tokens, (token) => (token === ignored ? '' : worlds[name].symbols[token]));

/**
 * Examples of a task as symbols.
 * @param {WorldName} name
 * @param {number} [count]
 */
function* examplesOf(name, count = 200) {
  const { ids, targets } = new Source(attn, worlds[name], 3, 8).batch(5, count);
  const { length } = worlds[name];
  for (let i = 0; i < count; i++) {
    const [from, to] = [i * length, (i + 1) * length];
    yield {
      ids: ids.data.subarray(from, to),
      given: written(ids.data.subarray(from, to), name),
      asked: written(targets.data.subarray(from, to), name),
    };
  }
}

const answers = /** @type {const} */ ({
  copy: (/** @type {string[]} */ given) => given,
  reverse: (/** @type {string[]} */ given) => given.toReversed(),
  sort: (/** @type {string[]} */ given) => given.toSorted(),
});

for (const name of /** @type {const} */ (['copy', 'reverse', 'sort'])) {
  test(`the answers of ${name} are right`, () => {
    for (const { given, asked } of examplesOf(name)) {
      assert.deepEqual(asked.slice(10), answers[name](given.slice(0, 10)));
      assert.equal(given.slice(10).join(''), '·'.repeat(10));
      assert.equal(asked.slice(0, 10).join(''), '');
    }
  });
}

test('sums are right', () => {
  for (const { given, asked } of examplesOf('add')) {
    const [, a, b] = /^(\d\d)\+(\d\d)=···$/.exec(given.join('')) ?? [];
    assert.equal(Number(asked.join('')), Number(a) + Number(b));
    assert.equal(asked.slice(6).join('').length, 3);
  }
});

test('counts are right', () => {
  for (const { given, asked } of examplesOf('count')) {
    assert.deepEqual(
      asked,
      given.map((letter) => `${given.filter((other) => other === letter).length}`),
    );
  }
});

test('runs are repeated with varying positions, lengths and gaps', () => {
  const places = { first: new Set(), gap: new Set(), run: new Set() };
  for (const { given, asked } of examplesOf('repeat', 1000)) {
    const second = asked.findIndex(Boolean);
    const run = asked.filter(Boolean).length + 1;
    const again = given.slice(second, second + run);
    assert.ok(run >= 4 && run <= 12);
    assert.deepEqual(asked.slice(second, second + run - 1), again.slice(1));
    const first = given.join('').indexOf(again.join(''));
    assert.ok(first >= 0 && first + run <= second, given.join(''));
    places.first.add(first);
    places.gap.add(second - first - run);
    places.run.add(run);
  }
  assert.ok(places.first.size >= 18 && places.gap.size >= 18 && places.run.size === 9);
});

test('no step uses held-out examples, and no two steps use the same examples', () => {
  for (const name of /** @type {WorldName[]} */ (Object.keys(worlds))) {
    const source = new Source(attn, worlds[name], 11, 128);
    // Compare dates by the days that they name, whatever their spelling.
    const rows = (/** @type {import('./worlds.js').Examples} */ { ids, targets }) => {
      const { data, shape } = worlds[name].written ? targets : ids;
      return Array.from({ length: shape[0] }, (_, i) =>
        data.slice(i * shape[1], (i + 1) * shape[1]).join(),
      );
    };
    const heldOut = new Set(rows(source.heldOut));
    const [first, second] = [rows(source.batch(0, 64)), rows(source.batch(1, 64))];
    assert.notDeepEqual(first, second);
    for (let step = 0; step < 50; step++) {
      for (const row of rows(source.batch(step, 64))) assert.ok(!heldOut.has(row), name);
    }
    assert.deepEqual(rows(new Source(attn, worlds[name], 11, 128).batch(0, 64)), first);
    assert.notDeepEqual(rows(new Source(attn, worlds[name], 12, 128).batch(0, 64)), first);
  }
});

/** Yields the input and the target of each example, both as text. @param {number} count */
function* datesOf(count) {
  const { symbols, written, length } = worlds.dates;
  const { ids, targets } = new Source(attn, worlds.dates, 3, 8).batch(5, count);
  for (let i = 0; i < count; i++) {
    const text = Array.from(ids.data.subarray(i * length, (i + 1) * length), (id) => symbols[id]);
    const right = Array.from(
      targets.data.subarray(i * 10, (i + 1) * 10),
      (symbol) => written?.symbols[symbol],
    );
    yield [text.join('').replace(/·*$/, ''), right.join('')];
  }
}

test('dates are right in every spelling, and none exceeds the available length', () => {
  const used = new Set();
  for (const [text, right] of datesOf(3000)) {
    const [year, month, day] = right.split('-').map(Number);
    const date = new Date(`${right}T00:00Z`);
    assert.equal(date.toISOString().slice(0, 10), right);
    const spelled = spellings.findIndex((spelling) => spelling({ year, month, day }) === text);
    assert.ok(spelled >= 0, `${text}: ${right}`);
    used.add(spelled);
    assert.ok(year >= 1900 && year < 2100);
  }
  assert.equal(used.size, spellings.length);
  for (let month = 1; month <= 12; month++) {
    for (let day = 1; day <= daysOf(2000, month); day++) {
      for (const spelling of spellings) {
        const text = spelling({ year: 2000, month, day });
        assert.ok(text.length <= worlds.dates.length);
        assert.deepEqual(dayIn(text), { year: 2000, month, day }, text);
      }
    }
  }
});

test('a custom date has a right answer if it names a single day', () => {
  for (const [text, right] of [
    ['the third of May 1999', '1999-05-03'],
    ['on 3 SEPT. 2021', '2021-09-03'],
    ['1999-05-03', '1999-05-03'],
    ['27.5.1999', '1999-05-27'],
    ['5-27-1999', '1999-05-27'],
    ['5.5.1999', '1999-05-05'],
    ['3.5.1999', ''],
    ['3 may', ''],
    ['30 february 2000', ''],
    ['29 feb 2000', '2000-02-29'],
    ['3 may or june 1999', ''],
    ['hello', ''],
  ]) {
    const { ids, targets } = exampleOf(attn, worlds.dates, 1, text);
    const symbols = worlds.dates.written?.symbols ?? [];
    assert.equal(Array.from(targets, (each) => symbols[each] ?? '').join(''), right, text);
    const kept = text.toLowerCase();
    assert.equal(written(ids, 'dates').join(''), kept.padEnd(36, '·'));
  }
});

test('a custom text replaces the first tokens, and characters that are not symbols are ignored', () => {
  const { ids, targets } = exampleOf(attn, worlds.add, 1, '9 9, x 07');
  assert.equal(written(ids, 'add').join(''), '99+07=···');
  assert.equal(written(targets, 'add').join(''), '106');
  const own = written(exampleOf(attn, worlds.reverse, 1, '').ids, 'reverse');
  const changed = written(exampleOf(attn, worlds.reverse, 1, 'CaT').ids, 'reverse');
  assert.deepEqual(changed, ['c', 'a', 't', ...own.slice(3)]);
  const repeated = exampleOf(attn, worlds.repeat, 1, 'abcdefghqrstuvwxabcdefghqxyzqmno');
  assert.equal(written(repeated.targets, 'repeat').join(''), 'bcdefghq');
  assert.equal(tokensOf(worlds.count, 'abcdefghij').length, 5);
});

test('a longer version of a task has the same rule and the same symbols, but longer inputs', () => {
  const text = (/** @type {WorldName} */ name, /** @type {number} */ times) => {
    const world = longerWorld(name, times);
    assert.deepEqual(world.symbols, worlds[name].symbols);
    const { ids, targets } = exampleOf(attn, world, 4, '');
    assert.equal(ids.length, world.length);
    const { answers } = world;
    assert.ok(targets.filter((target) => target !== ignored).length <= answers);
    return [written(ids, name), written(targets, name)];
  };
  for (const times of [1.5, 2, 3, 4]) {
    for (const name of /** @type {const} */ (['copy', 'reverse', 'sort'])) {
      const [given, asked] = text(name, times);
      const size = 10 * times;
      assert.deepEqual(asked.slice(size), answers[name](given.slice(0, size)));
    }
    const [given, asked] = text('add', times);
    const [, a, b] = /^(\d+)\+(\d+)=(·+)$/.exec(given.join('')) ?? [];
    assert.deepEqual([a.length, b.length], [2 * times, 2 * times]);
    assert.equal(asked.join(''), `${Number(a) + Number(b)}`.padStart(2 * times + 1, '0'));
    const [letters, numbers] = text('count', times);
    letters.forEach((letter, i) => {
      const same = letters.filter((other) => other === letter).length;
      assert.equal(numbers[i], same > 10 ? '' : `${same}`);
    });
    const [random, next] = text('repeat', times);
    assert.equal(random.length, 32 * times);
    next.forEach((symbol, i) => assert.ok(!symbol || symbol === random[i + 1]));
  }
});

test('the page states correctly how often the last occurrence of one letter, or of two, determines the next', () => {
  const right = (/** @type {number} */ times, /** @type {number} */ letters) => {
    const world = longerWorld('repeat', times);
    const { ids, targets } = new Source(attn, world, 1, 1000).heldOut;
    let [asked, told] = [0, 0];
    for (let start = 0; start < ids.data.length; start += world.length) {
      const tokens = ids.data.subarray(start, start + world.length);
      for (let i = 1; i < world.length; i++) {
        const target = targets.data[start + i];
        if (target === ignored) continue;
        const one = tokens.lastIndexOf(tokens[i], i - 1);
        let at = letters === 1 ? one : i - 1;
        while (letters === 2 && at > 0) {
          if (tokens[at] === tokens[i] && tokens[at - 1] === tokens[i - 1]) break;
          at--;
        }
        asked++;
        told += Number(tokens[(at || one) + 1] === target);
      }
    }
    return (100 * told) / asked;
  };
  for (const [times, letters, said] of [
    [1, 1, 57],
    [4, 1, 20],
    [1, 2, 92],
    [4, 2, 82],
  ]) {
    const measured = right(times, letters);
    assert.ok(Math.abs(measured - said) < 2, `${measured} for ${said}`);
  }
});
