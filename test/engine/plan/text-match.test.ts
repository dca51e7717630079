/** `icontains` and `starts_with`, compared with the definitions that they cite. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { beyondPrefix, caseForms, caselessPattern } from '../../../src/engine/plan/text-match.ts'

/** Every character of the planes that have letters with case, and more. */
const characters = Array.from({ length: 0x1f000 }, (_, code) => code)
  .filter(code => code < 0xd800 || code > 0xdfff)
  .map(code => String.fromCodePoint(code))

test('the case forms of a character are those that a case-insensitive regular expression matches', () => {
  const all = characters.join('')
  const sample = ['k', 'S', 'é', 'ß', 'İ', 'i', 'ı', 'σ', 'ΐ', 'ﬅ', '\u0345', '\u{10400}', 'Ꭰ', 'ꭰ', '\u1c80']
  for (const character of [...sample, ...characters.filter((_, index) => index % 7919 === 70)]) {
    const escaped = character.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&')
    const expected = all.match(new RegExp(escaped, 'giu'))?.join('')
    assert.equal(caseForms(character), expected, JSON.stringify(character))
  }
})

test('a pattern matches the case forms of letters and escapes all other characters', () => {
  assert.equal(
    caselessPattern('aß*1', character => `<${character}>`),
    '[Aa][ßẞ]<*><1>',
  )
})

const texts = fc.string({ unit: fc.constantFrom('a', 'b', '\ud7ff', '\ue000', '\u{10ffff}', '\u{1f600}') })

function order(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

test('exactly the texts with a prefix lie between the prefix and beyondPrefix', () => {
  fc.assert(
    fc.property(texts, texts, (prefix, text) => {
      const end = beyondPrefix(prefix)
      assert.ok(end.isWellFormed())
      assert.equal(order(text, prefix) >= 0 && order(text, end) < 0, text.startsWith(prefix))
    }),
    { numRuns: 3000 },
  )
})
