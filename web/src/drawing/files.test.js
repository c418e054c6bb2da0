import assert from 'node:assert/strict';
import { test } from 'node:test';

import { toCsv, wellFormed } from './files.js';

test('words that spreadsheets would interpret as formulas get an apostrophe', () => {
  const words = ['=1+1', '+1', '-', '@SUM', '\r=1', 'a=b', '"x"'];
  const data = Float32Array.from(words, (_, i) => -i - 0.5);
  assert.equal(
    toCsv({ data, shape: [7, 1], words, over: ['=2'] }),
    [
      'row,word,0 =2',
      "0,'=1+1,-0.5",
      "1,'+1,-1.5",
      "2,'-,-2.5",
      "3,'@SUM,-3.5",
      '4,"\'\r=1",-4.5',
      '5,a=b,-5.5',
      '6,"""x""",-6.5\n',
    ].join('\n'),
  );
});

test('a picture contains no characters that XML forbids', () => {
  assert.equal(wellFormed('a\0\x02b\x0c\ud800c\uffff\t\n\r'), 'abc\t\n\r');
  assert.equal(wellFormed('é 😀 漢 \x7f'), 'é 😀 漢 \x7f');
});
