/** Built-in fields of `users` that the model narrows: `email: { access: { read: owner('id') } }`. */

import { isObject } from '../../base/json.ts'
import type { AccessRule } from '../access.ts'
import { type FieldDeclaration, type FieldNarrowing, isAccessRule, optionsOf } from '../fields/declared.ts'
import { didYouMean } from '../suggest.ts'
import type { Faults } from './faults.ts'

const narrowing = "Write e.g. `{ access: { read: owner('id') } }`."

/** The field with the options in `added`; unchanged if these have faults. */
export function narrowedField(
  name: string,
  field: FieldDeclaration,
  added: unknown,
  faults: Faults,
): FieldDeclaration {
  const place = `users.fields.${name}`
  const refuse = (faultPlace: string, message: string): FieldDeclaration => {
    faults.add(faultPlace, message)
    return field
  }
  const options = optionsOf(field)
  if (!isObject(added) || added.kind === 'field') {
    return refuse(
      place,
      `The field is built in and cannot be declared again, but its rules can be narrowed. ${narrowing} A field of your own needs another name; \`renamedFrom: '${name}'\` keeps its data.`,
    )
  }
  if (options.internal) return refuse(place, 'Clients can neither read nor write this field. Remove it.')
  const unknown = unknownKey(added, ['access', 'description'])
  if (unknown !== undefined)
    return refuse(`${place}.${unknown}`, unsettable(unknown, ['access', 'description']))
  const { access = {}, description } = added as FieldNarrowing
  if (!isObject(access)) return refuse(`${place}.access`, `These are not rules. ${narrowing}`)
  const unknownRule = unknownKey(access, ['read', 'write'])
  if (unknownRule !== undefined) {
    return refuse(`${place}.access.${unknownRule}`, unsettable(unknownRule, ['read', 'write']))
  }
  const narrowed = (operation: 'read' | 'write') => combined(options.access?.[operation], access[operation])
  const rules = { read: narrowed('read'), write: narrowed('write') }
  return {
    ...field,
    options: { ...options, ...(description !== undefined && { description }), access: rules },
  }
}

function unknownKey(object: object, allowedKeys: readonly string[]): string | undefined {
  return Object.keys(object).find(key => !allowedKeys.includes(key))
}

function unsettable(key: string, settableKeys: readonly string[]): string {
  const names = settableKeys.map(name => `\`${name}\``).join(' and ')
  return `The field is built in: only ${names} can be set, not \`${key}\`.${didYouMean(key, settableKeys)}`
}

/** Both rules must hold. An invalid rule is returned unchanged: `ruleCheck` reports it. */
function combined(builtin: AccessRule | undefined, added: AccessRule | undefined): AccessRule | undefined {
  if (builtin === undefined || added === undefined || !isAccessRule(added)) return added ?? builtin
  return builtin.and(added)
}
