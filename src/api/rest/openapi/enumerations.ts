/**
 * The names of the constants that client generators make of enumerations. Without them, generators derive names from the
 * values: `,` gives none, and in languages whose constants share one scope, such as Go, equal values of two enumerations
 * clash. So each name begins with that of its enumeration, whatever other enumerations a model has.
 */
import type { JsonSchema } from '../../../model/fields/type.ts'
import { uniqueName } from './components.ts'

const characterNames: ReadonlyMap<string, string> = new Map([
  [',', 'Comma'],
  [' ', 'Space'],
  ['*', 'All'],
])

function capitalized(word: string): string {
  const rest = word.slice(1)
  return word.charAt(0).toUpperCase() + (word === word.toUpperCase() ? rest.toLowerCase() : rest)
}

/** `read:post` → `ReadPost`, `NOT_FOUND` → `NotFound`; empty if the value has no ASCII letters and digits. */
function pascalWords(value: string): string {
  return (value.match(/[A-Za-z0-9]+/g) ?? []).map(capitalized).join('')
}

/** `,` → `Comma`, `<=` → `U003CU003D`. */
function namedCharacters(value: string): string {
  const names = [...value].map(character => {
    const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')
    return characterNames.get(character) ?? `U${code}`
  })
  return names.join('') || 'Empty'
}

/** Whether constants can be made of the schema. */
function isEnumeration(schema: JsonSchema): schema is JsonSchema & { readonly enum: readonly string[] } {
  const { enum: values } = schema
  return Array.isArray(values) && values.every(value => typeof value === 'string')
}

/** The component with this name; if it is an enumeration, with a unique name for each value, in their order. */
export function withConstantNames(name: string, schema: JsonSchema): JsonSchema {
  if (!isEnumeration(schema)) return schema
  const taken = new Set<string>()
  const names = schema.enum.map(value =>
    uniqueName(taken, name + (pascalWords(value) || namedCharacters(value))),
  )
  return { ...schema, 'x-enum-varnames': names }
}
