/** Built-in fields of `users` that the model narrows: `email: { access: { read: owner('id') } }`. */
import type { AccessRule } from '../access.ts'
import {
  type FieldDeclaration,
  type FieldNarrowing,
  isAccessRule,
  isObject,
  optionsOf,
} from '../fields/declared.ts'
import { didYouMean } from '../nearest.ts'
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
  const fault = (at: string, message: string): FieldDeclaration => {
    faults.add(at, message)
    return field
  }
  const options = optionsOf(field)
  if (!isObject(added) || added.kind === 'field') {
    return fault(
      place,
      `The field is built in and cannot be declared again, but its rules can be narrowed. ${narrowing} A field of your own needs another name; \`renamedFrom: '${name}'\` keeps its data.`,
    )
  }
  if (options.internal) return fault(place, 'Clients can neither read nor write this field. Remove it.')
  const unknown = unknownIn(added, ['access', 'description'])
  if (unknown !== undefined)
    return fault(`${place}.${unknown}`, `${changed(unknown, ['access', 'description'])}`)
  const { access = {}, description } = added as FieldNarrowing
  if (!isObject(access)) return fault(`${place}.access`, `These are not rules. ${narrowing}`)
  const unknownRule = unknownIn(access, ['read', 'write'])
  if (unknownRule !== undefined) {
    return fault(`${place}.access.${unknownRule}`, changed(unknownRule, ['read', 'write']))
  }
  const both = (operation: 'read' | 'write') => combined(options.access?.[operation], access[operation])
  const rules = { read: both('read'), write: both('write') }
  return {
    ...field,
    options: { ...options, ...(description !== undefined && { description }), access: rules },
  }
}

function unknownIn(given: object, known: readonly string[]): string | undefined {
  return Object.keys(given).find(key => !known.includes(key))
}

function changed(key: string, known: readonly string[]): string {
  return `The field is built in: only ${known.map(each => `\`${each}\``).join(' and ')} can be set, not \`${key}\`.${didYouMean(key, known)}`
}

/** Both rules must hold. An invalid rule is returned unchanged: `ruleCheck` reports it. */
function combined(builtin: AccessRule | undefined, added: AccessRule | undefined): AccessRule | undefined {
  if (builtin === undefined || added === undefined || !isAccessRule(added)) return added ?? builtin
  return builtin.and(added)
}
