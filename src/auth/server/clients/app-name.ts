/** Names of apps. Users decide by them which app gets access to their data. */
import { ApiError } from '../../../errors.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import { unseen } from '../../../model/json-schema/patterns.ts'
import { normalize } from '../../../unicode.ts'

/** Cyrillic and Greek letters that look like Latin ones, in lower case. */
const lookalikes: ReadonlyMap<string, string> = new Map(
  [...'аaвbсcԁdеeһhіiјjкkмmоoрpԛqѕsтtуyхxԝwαaεeιiκkνvοoρpτtυuχx'.matchAll(/(.)(.)/gsu)].map(
    ([, letter = '', latin = '']) => [letter, latin],
  ),
)

/** A name as it looks at a glance: without case, accents, spaces and punctuation, in one alphabet. */
function folded(name: string): string {
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

/** Throws VALIDATION_FAILED where a name looks like the service's own, or begins or ends with a space. `name`: at most 100 characters. */
export function requireName(name: JsonValue | undefined, serviceName: string): void {
  if (typeof name !== 'string') return
  if (name.trim() !== name || name === '')
    refuse('The name must not be empty, nor begin or end with a space.')
  const own = folded(serviceName)
  if (own === '' || folded(name) !== own) return
  refuse(`The name must not be that of this service, ${serviceName}: users would take the app for it.`)
}

/** A name as pages show it. Names stored by older versions may contain invisible characters. */
export function shownName(name: string): string {
  return name.replace(unseen, '').trim()
}
