import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { normalize, streamSafe } from '../../../src/base/unicode.ts'

const acute = '\u0301'
const dotBelow = '\u0323'
const joiner = '\u034F'

/** Determined by normalising, not by the tables of `unicode.ts`: U+0345 has the highest combining class. */
function isNonStarter(character: string): boolean {
  return character === '\u0345' || `\u0345${character}`.normalize('NFD') !== `\u0345${character}`
}

function longestRun(text: string): number {
  let longest = 0
  let run = 0
  for (const character of text.normalize('NFKD')) {
    run = isNonStarter(character) ? run + 1 : 0
    longest = Math.max(longest, run)
  }
  return longest
}

test('a joiner is inserted after every thirtieth character of a run of non-starters (UAX #15, D4)', () => {
  const run = (marks: number) => acute.repeat(marks)
  assert.equal(streamSafe(`a${run(30)}b`), `a${run(30)}b`)
  assert.equal(streamSafe(`a${run(31)}b`), `a${run(30)}${joiner}${run(1)}b`)
  assert.equal(streamSafe(run(61)), `${run(30)}${joiner}${run(30)}${joiner}${run(1)}`)
  assert.equal(streamSafe(`${run(29)}${joiner}${run(29)}`), `${run(29)}${joiner}${run(29)}`)
})

test('the marks in the decomposition of a character count towards the run', () => {
  // U+1EAD is a letter with two marks, U+0344 is two marks, U+FF9E is a mark in the category of letters.
  assert.equal(streamSafe(`\u1EAD${acute.repeat(29)}`), `\u1EAD${acute.repeat(28)}${joiner}${acute}`)
  assert.equal(streamSafe('\u0344'.repeat(16)), `${'\u0344'.repeat(15)}${joiner}\u0344`)
  assert.equal(streamSafe('\uFF9E'.repeat(31)), `${'\uFF9E'.repeat(30)}${joiner}\uFF9E`)
})

test('texts in living languages stay unchanged', () => {
  for (const text of [
    '',
    'Größe',
    'Việt Nam',
    'हिन्दी की किताब',
    'ﷺ',
    '👩‍👩‍👧‍👦',
    `Z${'\u030D'.repeat(20)}algo`,
  ]) {
    assert.equal(streamSafe(text), text)
    assert.equal(normalize(text, 'NFC'), text.normalize('NFC'))
    assert.equal(normalize(text, 'NFKD'), text.normalize('NFKD'))
  }
})

test('no text has more than thirty consecutive non-starters afterwards, and a second pass changes nothing', () => {
  const part = fc.oneof(
    fc.constantFrom(acute, dotBelow, '\u0344', '\u0345', '\uFF9E', '\u1EAD', joiner, '\u0903', '\u{1D165}'),
    fc.string({ unit: 'binary', maxLength: 2 }),
  )
  const texts = fc
    .array(fc.tuple(part, fc.integer({ min: 1, max: 70 })), { maxLength: 8 })
    .map(parts => parts.map(([text, times]) => text.repeat(times)).join(''))
  fc.assert(
    fc.property(texts, text => {
      const safe = streamSafe(text)
      assert.ok(longestRun(safe) <= 30)
      assert.equal(streamSafe(safe), safe)
      assert.equal(safe.replaceAll(joiner, ''), text.replaceAll(joiner, ''))
    }),
  )
})

test('Unicode has no characters that the search for long runs overlooks', () => {
  const mark = /^[\p{M}\uFF9E\uFF9F]$/u
  let most = 0
  let mostOfMark = 0
  for (let point = 0; point <= 0x10ffff; point++) {
    if (point >= 0xd800 && point <= 0xdfff) continue
    const character = String.fromCodePoint(point)
    const decomposed = [...character.normalize('NFKD')]
    if (mark.test(character)) {
      mostOfMark = Math.max(mostOfMark, decomposed.filter(isNonStarter).length)
      continue
    }
    assert.ok(!isNonStarter(decomposed[0] ?? ''), `U+${point.toString(16)}`)
    most = Math.max(
      most,
      decomposed.length - 1 - decomposed.findLastIndex(codePoint => !isNonStarter(codePoint)),
    )
  }
  assert.ok(most > 0 && most <= 5, `${most} at the end of another character`)
  assert.equal(mostOfMark, 2)
})

test('no other source file normalises text', () => {
  const sources = join(import.meta.dirname, '..', '..', '..', 'src')
  const found = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter(
    file => file.endsWith('.ts') && /\.normalize\(/.test(readFileSync(join(sources, file), 'utf8')),
  )
  assert.deepEqual(found, [join('base', 'unicode.ts')])
})
