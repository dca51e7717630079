/** Text into search words, the same for every database: no database's own tokeniser is asked. */

const separators = /[^\p{L}\p{N}]+/u
const marks = /\p{M}+/gu

/** The words of a text: compatibility-decomposed, without marks, in lower case. */
export function wordsOf(text: string): string[] {
  const plain = text.normalize('NFKD').toLowerCase().normalize('NFKD').replace(marks, '')
  return plain.split(separators).filter(word => word !== '')
}
