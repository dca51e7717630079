/**
 * The meaning of the operators `icontains` and `starts_with`: defined here rather than by database functions, so that all
 * databases find the same items.
 */
import type { FilterOperator } from '../../model/fields/type.ts'

/** The operators whose operand is any text, whether or not it is a value of the field. */
const textOperators: ReadonlySet<FilterOperator> = new Set(['contains', 'icontains', 'starts_with'])

export function takesText(operator: FilterOperator): boolean {
  return textOperators.has(operator)
}

/** No code point above this one has another letter case. */
const lastCased = 0x1_efff
const isCased =
  /[\p{Changes_When_Casefolded}\p{Changes_When_Lowercased}\p{Changes_When_Uppercased}\p{Changes_When_Titlecased}]/gu

let casedCharacters: string | undefined

function allCased(): string {
  const characters: string[] = []
  for (let code = 0; code <= lastCased; code++) {
    if (code < 0xd800 || code > 0xdfff) characters.push(String.fromCodePoint(code))
  }
  return (characters.join('').match(isCased) ?? []).join('')
}

/** By character: about 3,000 have more than one form. */
const formsByCharacter = new Map<string, string>()

/** The characters with the same simple case folding (Unicode Standard, 3.13; CaseFolding.txt, C and S), e.g. `kKK`. */
export function caseForms(character: string): string {
  const cached = formsByCharacter.get(character)
  if (cached !== undefined) return cached
  casedCharacters ??= allCased()
  if (!casedCharacters.includes(character)) return character
  // With these flags, characters are compared by simple case folding (ECMA-262, 22.2.2.7.3).
  const forms = casedCharacters.match(new RegExp(character, 'giu'))?.join('') ?? character
  formsByCharacter.set(character, forms)
  return forms
}

/** `text` as a pattern in which each character matches all its forms. `literal`: escapes a character that has no other form. */
export function caselessPattern(text: string, literal: (character: string) => string): string {
  const parts: string[] = []
  for (const character of text) {
    const forms = caseForms(character)
    parts.push(forms === character ? literal(character) : `[${forms}]`)
  }
  return parts.join('')
}

const lastCharacter = 0x10_ffff

/** Sorts after every text, except those that begin with a thousand of these noncharacters. */
const beyondAll = String.fromCodePoint(lastCharacter).repeat(1000)

/** The upper bound, in code point order, of all texts that begin with `prefix`. */
export function beyondPrefix(prefix: string): string {
  const codes = Array.from(prefix, character => character.codePointAt(0) ?? 0)
  while (codes.at(-1) === lastCharacter) codes.pop()
  const last = codes.pop()
  if (last === undefined) return beyondAll
  // Surrogates are not characters.
  return String.fromCodePoint(...codes, last === 0xd7ff ? 0xe000 : last + 1)
}
