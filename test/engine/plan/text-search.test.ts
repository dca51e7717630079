import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  containedFault,
  indexedTerms,
  maxIndexedLength,
  maxTermLength,
  searchFault,
  searchTerms,
} from '../../../src/engine/plan/text-search.ts'

test('the terms of a text are its distinct words without diacritics, in lower case', () => {
  const rows: readonly (readonly [text: string, terms: readonly string[]])[] = [
    ['', []],
    [' -- !', []],
    ['Grey STONES, grey', ['grey', 'stones']],
    ['Ça, ÇA, ca', ['ca']],
    ['ﬁne fine', ['fine']],
    ['ΟΔΟΣ', ['οδος']],
    ['"a" OR b*', ['a', 'or', 'b']],
  ]
  for (const [text, terms] of rows) {
    assert.deepEqual(searchTerms(text), terms)
    assert.deepEqual(indexedTerms(text), terms)
  }
})

test('texts of scripts without spaces are found by every part of them', () => {
  const parts: readonly (readonly [text: string, parts: readonly string[], others: readonly string[]])[] = [
    [
      '日本語のテキスト',
      ['日本語', '本語の', '語', 'テキスト', 'ﾃｷｽﾄ', '日本 テキスト'],
      ['日語', '語本', 'テト'],
    ],
    ['대한민국의 역사', ['민국', '대한민국', '역사', '역', '국의'], ['대민', '국역', '여']],
    ['做好财务护城河', ['财务', '护城河', '好财'], ['财河']],
    ['ภาษาไทยเขียนติดกัน', ['ไทย', 'เขียน', 'ภาษา'], ['ไทยภาษา']],
    ['ພາສາລາວ', ['ລາວ', 'ພາສາ'], ['ລາພາ']],
    ['ភាសាខ្មែរ', ['ខ្មែរ', 'ភាសា'], ['ខ្មែរភាសា']],
    ['iPhone15ケース付き', ['ケース', 'iphone15', '付き'], ['phone15', '15ケ']],
    ['𠮷野家𠮷', ['𠮷野', '家𠮷', '𠮷'], ['野𠮷']],
    ['ガッコウ がっこう', ['か', 'がっこう'], ['がう']],
  ]
  for (const [text, found, others] of parts) {
    const index = new Set(indexedTerms(text))
    for (const part of found)
      assert.ok(
        searchTerms(part).every(term => index.has(term)),
        `${text}: ${part}`,
      )
    for (const other of others)
      assert.ok(!searchTerms(other).every(term => index.has(term)), `${text}: not ${other}`)
  }
  assert.deepEqual(searchTerms('日本語 text'), ['日本', '本語', 'text'])
})

test('a search counts the pairs of such a text as terms', () => {
  const han = (count: number) => String.fromCodePoint(...Array.from({ length: count }, (_, n) => 0x4e00 + n))
  assert.equal(searchFault(han(33)), undefined)
  assert.equal(searchFault(han(34))?.code, 'too_many')
})

test('combining marks are ignored, however many there are', () => {
  const marks = '\u0301\u0323'.repeat(300_000)
  assert.deepEqual(searchTerms(`a${marks}b`), ['ab'])
  assert.deepEqual(indexedTerms(`first a${marks}`), ['first'])
})

test('a stored text is indexed by the words that are complete within its first 100,000 characters', () => {
  const text = (length: number) => `${'first'.padEnd(length - 4)}last`
  assert.equal(indexedTerms(text(maxIndexedLength)).length, 2)
  assert.deepEqual(indexedTerms(text(maxIndexedLength + 1)), ['first'])
  assert.deepEqual(indexedTerms(`${'a '.repeat(60_000)}last`), ['a'])
  // Each of these letters decomposes into four words.
  assert.deepEqual(indexedTerms(`${'\uFDFA '.repeat(40_000)}last`), searchTerms('\uFDFA'))
  assert.deepEqual(indexedTerms(`${'é '.repeat(40_000)}last`), ['e', 'last'])
})

test('a term too long for the index is omitted, and the other terms of the text are indexed', () => {
  const long = 'x'.repeat(maxTermLength)
  assert.deepEqual(indexedTerms(`before ${long} after`), ['before', long, 'after'])
  assert.deepEqual(indexedTerms(`before ${long}x after`), ['before', 'after'])
  assert.deepEqual(searchTerms(`${long}x`), [`${long}x`])
})

test('a search has at most 500 characters and 32 distinct words', () => {
  const words = (count: number) => Array.from({ length: count }, (_, index) => `w${index}`).join(' ')
  assert.equal(searchFault(words(32)), undefined)
  assert.equal(searchFault('a '.repeat(250)), undefined)
  assert.deepEqual(searchFault(words(33)), {
    code: 'too_many',
    message: 'has 33 different words; at most 32 are allowed',
  })
  for (const faultOf of [searchFault, containedFault]) {
    assert.equal(faultOf('😀'.repeat(500)), undefined)
    assert.deepEqual(faultOf('😀'.repeat(501)), {
      code: 'too_long',
      message: 'has 501 characters; at most 500 are allowed',
    })
  }
})
