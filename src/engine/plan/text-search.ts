/** Splits texts and searches into terms: here rather than by a database's tokeniser, so that all databases find the same items. */
import { isLongerThan, normalize } from '../../base/unicode.ts'

/** In characters (Unicode code points): of a search, and of an operand of `contains`, `icontains` and `starts_with`. */
export const maxSearchCharacters = 500
/** Distinct terms of a search: the database looks up each of them. */
export const maxSearchTerms = 32
/** In UTF-16 code units. The rest of a stored text is not indexed, which bounds the time of a write. */
export const maxIndexedLength = 100_000
/**
 * In UTF-16 code units. A longer term is not indexed, so no search finds it: PostgreSQL refuses an entry of a GIN index above
 * 2,712 bytes, and UTF-8 takes up to three bytes for each unit.
 */
export const maxTermLength = 800
/** In UTF-16 code units. Decomposition turns most letters into up to two characters, and ligatures of words into up to 18. */
const maxDecomposedLength = 2 * maxIndexedLength

const separators = /[^\p{L}\p{N}]+/u
const marks = /\p{M}+/gu

function decomposed(text: string): string {
  return normalize(text, 'NFKD')
}

/** Increases with every change of the terms of a text: `migrate` then makes the search of every collection anew. */
export const termsVersion = 1

/** Scripts without spaces between words, and Hangul, whose words are often parts of longer ones. */
const unspacedScripts = String.raw`\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}`
const unspaced = new RegExp(`[${unspacedScripts}]`, 'u')
const scriptRuns = new RegExp(`[${unspacedScripts}]+|[^${unspacedScripts}]+`, 'gu')

function pairsOf(characters: readonly string[]): readonly string[] {
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`)
}

/** A part of such a text is found by its pairs of characters, a single character by itself. */
function searchedParts(characters: readonly string[]): readonly string[] {
  return characters.length === 1 ? characters : pairsOf(characters)
}

function indexedParts(characters: readonly string[]): readonly string[] {
  return [...characters, ...pairsOf(characters)]
}

type PartsOf = typeof searchedParts

function partsOf(word: string, parts: PartsOf): readonly string[] {
  if (!unspaced.test(word)) return [word]
  // Decomposed Hangul has up to three characters for a syllable.
  const runs = normalize(word, 'NFC').match(scriptRuns) ?? []
  return runs.flatMap(run => (unspaced.test(run) ? parts([...run]) : run))
}

/** `text`: decomposed. */
function termsOf(text: string, parts: PartsOf): readonly string[] {
  return decomposed(text.toLowerCase())
    .replace(marks, '')
    .split(separators)
    .flatMap(word => (word === '' ? [] : partsOf(word, parts)))
}

/** The different terms of a search: compatibility-decomposed, without marks, in lower case. */
export function searchTerms(text: string): readonly string[] {
  return [...new Set(termsOf(decomposed(text), searchedParts))]
}

/** The different terms by which a stored text is found. */
export function indexedTerms(text: string): readonly string[] {
  const indexedText = decomposed(text.slice(0, maxIndexedLength))
  if (text.length <= maxIndexedLength && indexedText.length <= maxDecomposedLength) {
    return indexable(termsOf(indexedText, indexedParts))
  }
  // The last term may be truncated.
  return indexable(termsOf(indexedText.slice(0, maxDecomposedLength), indexedParts).slice(0, -1))
}

function indexable(terms: readonly string[]): readonly string[] {
  return [...new Set(terms)].filter(term => term.length <= maxTermLength)
}

export interface TextFault {
  readonly code: 'too_long' | 'too_many' | 'wrong_type'
  /** A predicate whose subject is the text. */
  readonly message: string
}

function lengthFault(text: string): TextFault | undefined {
  if (!isLongerThan(text, maxSearchCharacters)) return undefined
  let characters = 0
  for (const _ of text) characters++
  const message = `has ${characters} characters; at most ${maxSearchCharacters} are allowed`
  return { code: 'too_long', message }
}

/** Why the text cannot be searched for; undefined if it can. */
export function searchFault(text: string): TextFault | undefined {
  const tooLong = lengthFault(text)
  if (tooLong) return tooLong
  const terms = searchTerms(text).length
  if (terms <= maxSearchTerms) return undefined
  return { code: 'too_many', message: `has ${terms} different words; at most ${maxSearchTerms} are allowed` }
}

/**
 * Why the text cannot be an operand of `contains`, `icontains` or `starts_with`; undefined if it can. A comparison takes
 * time in proportion to the product of both lengths.
 */
export function containedFault(text: string): TextFault | undefined {
  return lengthFault(text)
}
