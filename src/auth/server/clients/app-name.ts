/** Names of apps. Users recognise apps by their names when they grant access to their data. */
import { ApiError } from '../../../errors.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import { invisibleCharacters } from '../../../model/json-schema/patterns.ts'
import { normalize } from '../../../unicode.ts'

/** Lookalikes of Latin letters, each followed by its letter: Cyrillic and Greek letters, digits, and `l` for `i`. */
const lookalikes: ReadonlyMap<string, string> = new Map(
  [...'аaвbсcԁdеeһhіiјjкkмmоoрpԛqѕsтtуyхxԝwαaεeιiκkνvοoρpτtυuχx0o1ili'.matchAll(/(.)(.)/gsu)].map(
    ([, letter = '', latin = '']) => [letter, latin],
  ),
)

/** The skeleton of a name, by which similar names are equal: no case, accents, spaces or punctuation; one alphabet. */
function skeleton(name: string): string {
  const letters = normalize(name, 'NFKD')
    .toLowerCase()
    .replace(/[\p{M}\p{C}\p{Z}\p{P}\p{S}]/gu, '')
  return [...letters].map(letter => lookalikes.get(letter) ?? letter).join('')
}

function refuse(message: string): never {
  throw new ApiError('VALIDATION_FAILED', message, {
    details: [{ field: 'name', code: 'not_allowed', message }],
  })
}

/** More combining marks than any script needs: stacked, they cover the lines above. */
const stackedMarks = /\p{M}{5}/u

/** Tag characters and variation selectors, which are invisible, except in the flags of regions. */
const tags = /(?<!\u{1f3f4}[\u{e0020}-\u{e007f}]*)[\u{e0000}-\u{e0fff}]/u

/**
 * Throws VALIDATION_FAILED if a name looks like the service's own, contains invisible characters, or begins or ends with
 * a space. `name`: at most 100 characters.
 */
export function requireName(name: JsonValue | undefined, serviceName: string): void {
  if (typeof name !== 'string') return
  if (name.trim() !== name || name === '')
    refuse('The name must not be empty, nor begin or end with a space.')
  if (stackedMarks.test(name) || tags.test(name))
    refuse('The name must not contain invisible characters, nor more than four marks on one letter.')
  const reserved = skeleton(serviceName)
  if (reserved === '' || skeleton(name) !== reserved) return
  refuse(
    `The name must not resemble that of this service, ${serviceName}: users would mistake the app for it.`,
  )
}

/** A name as pages show it. Names stored by older versions may contain invisible characters. */
export function shownName(name: string): string {
  return name.replace(invisibleCharacters, '').trim()
}
