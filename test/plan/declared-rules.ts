/** Random rules, as the builders of a model file take them. */
import type { AccessRule } from '../../src/model/access.ts'
import type { CollectionAccess, Field } from '../../src/model/model.ts'
import type { Rule } from '../../src/model/rule.ts'

const open: Rule = { kind: 'anyone' }
const wrapped = (rule: Rule) => ({ rule }) as AccessRule

/** Who may do what with a collection; what is not chosen is open. */
export function operations({
  read = open,
  create = open,
  update = open,
  delete: remove = open,
}: Partial<CollectionAccess> = {}) {
  return { read: wrapped(read), create: wrapped(create), update: wrapped(update), delete: wrapped(remove) }
}

/** Who may read and write a field. */
export function rules(choice: Partial<Field> | undefined) {
  const access = choice?.access
  return access ? { access: { read: wrapped(access.read), write: wrapped(access.write) } } : {}
}

/** A required field may not be written by nobody, but by everybody whom a rule leaves out. */
export function writable(choice: Partial<Field> | undefined): Partial<Field> | undefined {
  if (choice?.access?.write.kind !== 'nobody') return choice
  const write: Rule = { kind: 'not', rule: open }
  return { ...choice, access: { ...choice.access, write } }
}
