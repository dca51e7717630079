/** Texts of a given length that are expensive for parsers, patterns and normalisation. */

export type TextOfLength = (length: number) => string

/** Repeats `part` and truncates the text to the length. */
export function repeated(part: string, before = '', after = ''): TextOfLength {
  return length => {
    const rest = Math.max(0, length - before.length - after.length)
    return before + part.repeat(Math.ceil(rest / part.length)).slice(0, rest) + after
  }
}

/** Different parts of about eight characters each. */
export function differing(part: (index: number) => string, separator: string): TextOfLength {
  return length => Array.from({ length: Math.floor(length / 8) }, (_, index) => part(index)).join(separator)
}

export const word = (index: number) => index.toString(36).padStart(7, 'q')

/** By kind, for functions that take any text. */
export const hostile: ReadonlyMap<string, TextOfLength> = new Map([
  ['one letter', repeated('a', '', '!')],
  ['spaces', repeated(' ', 'a', 'a')],
  ['commas', repeated(',', 'a', '!')],
  ['commas and spaces', repeated(', ', 'a', '!')],
  ['semicolons', repeated(';q=1', 'a', '!')],
  ['equals signs', repeated('=', 'a=', '!')],
  ['quotes', repeated('"')],
  ['backslashes', repeated('\\', '"')],
  ['opening brackets', repeated('(')],
  ['nested brackets', length => '['.repeat(length / 2) + ']'.repeat(length / 2)],
  ['percent escapes', repeated('%CC%81%CC%A3', 'http://a')],
  ['dots', repeated('a.', '', '!')],
  ['at signs', repeated('a@', '', '!')],
  ['colons', repeated(':', 'http://', ' ')],
  ['slashes', repeated('/a', 'http://a', ' ')],
  ['hyphens', repeated('a-', 'http://', '!')],
  ['digits', repeated('1', '', '!')],
  ['line breaks', repeated('\n', 'a', '!')],
  ['words', differing(word, ' ')],
])

/** Texts for functions that take Unicode. */
export const unicode: ReadonlyMap<string, TextOfLength> = new Map([
  ...hostile,
  ['alternating marks', repeated('\u0301\u0323', 'a')],
  ['marks in the category of letters', repeated('\uFF9E\u0301', 'a')],
  ['letters with many marks each', repeated(`a${'\u0301\u0323'.repeat(12)}`)],
  ['letters that decompose into many', repeated('\uFDFA')],
  ['sigmas', repeated('Σ\u0323')],
  ['pairs of surrogates', repeated('😀')],
  ['halves of surrogate pairs', repeated('\uD83D')],
])
