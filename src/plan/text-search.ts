/**
 * Text that is searched for, and text that is searched. It becomes terms here, the same for every database: no
 * database's own tokeniser is asked.
 */
import { isLongerThan, normalize } from '../unicode.ts'

/** In characters (Unicode code points), of a search, and of a text that another is to contain. */
export const maxSearchCharacters = 500
/** Different ones: databases look each up, and compare what they find. */
export const maxSearchTerms = 32
/** In UTF-16 code units. What stands behind them in a stored text is not found, so that a write takes no longer. */
export const maxIndexedLength = 100_000
/** Of the same text, decomposed: a letter becomes two characters, or, of those that stand for words, up to 18. */
const maxDecomposedLength = 2 * maxIndexedLength

const separators = /[^\p{L}\p{N}]+/u
const marks = /\p{M}+/gu

function decomposed(text: string): string {
  return normalize(text, 'NFKD')
}

/** `text`: decomposed. */
function wordsOf(text: string): readonly string[] {
  return decomposed(text.toLowerCase())
    .replace(marks, '')
    .split(separators)
    .filter(word => word !== '')
}

/** The different terms of a search: compatibility-decomposed, without marks, in lower case. */
export function searchTerms(text: string): readonly string[] {
  return [...new Set(wordsOf(decomposed(text)))]
}

/** The different terms by which a stored text is found. */
export function indexedTerms(text: string): readonly string[] {
  const whole = decomposed(text.slice(0, maxIndexedLength))
  if (text.length <= maxIndexedLength && whole.length <= maxDecomposedLength) {
    return [...new Set(wordsOf(whole))]
  }
  // The last word may be cut.
  return [...new Set(wordsOf(whole.slice(0, maxDecomposedLength)).slice(0, -1))]
}

interface TextFault {
  readonly code: 'too_long' | 'too_many'
  /** After what the text is called. */
  readonly message: string
}

function lengthFault(text: string): TextFault | undefined {
  if (!isLongerThan(text, maxSearchCharacters)) return undefined
  let characters = 0
  for (const _ of text) characters++
  const message = `has ${characters} characters; at most ${maxSearchCharacters} are allowed`
  return { code: 'too_long', message }
}

/** Why the text cannot be searched for; undefined where it can. */
export function searchFault(text: string): TextFault | undefined {
  const tooLong = lengthFault(text)
  if (tooLong) return tooLong
  const terms = searchTerms(text).length
  if (terms <= maxSearchTerms) return undefined
  return { code: 'too_many', message: `has ${terms} different words; at most ${maxSearchTerms} are allowed` }
}

/**
 * Why no text can be asked to contain this one; undefined where it can. To look for a long text takes databases
 * time that grows with its length times that of the text that is looked into.
 */
export function containedFault(text: string): TextFault | undefined {
  return lengthFault(text)
}
