/** Random rules in the form that the builders of a model file accept. */
import { mapLeaves } from '../../../src/base/predicate.ts'
import type { AccessRule } from '../../../src/model/access.ts'
import type { CollectionAccess, Field } from '../../../src/model/model.ts'
import type { Rule } from '../../../src/model/rule/rule.ts'

const open: Rule = { kind: 'anyone' }
const wrapped = (rule: Rule) => ({ rule: withoutApps(rule) }) as AccessRule

/** The declared model has no relation to `oauth_apps` that could be compared with the caller's app. */
function withoutApps(rule: Rule): Rule {
  return mapLeaves(rule, leaf => {
    if (leaf.kind === 'related') return { ...leaf, rule: withoutApps(leaf.rule) }
    return leaf.kind === 'compare' && leaf.operand.kind === 'appId'
      ? { ...leaf, operand: { kind: 'caller', field: 'id' } }
      : leaf
  })
}

/** The access rules of a collection; operations without a choice are open. */
export function operations({
  read = open,
  create = open,
  update = open,
  delete: remove = open,
}: Partial<CollectionAccess> = {}) {
  return { read: wrapped(read), create: wrapped(create), update: wrapped(update), delete: wrapped(remove) }
}

/** The read and write rules of a field. */
export function rules(choice: Partial<Field> | undefined) {
  const access = choice?.access
  return access ? { access: { read: wrapped(access.read), write: wrapped(access.write) } } : {}
}

/** Replaces the write rule nobody of a required field, which a model may not have. */
export function writable(choice: Partial<Field> | undefined): Partial<Field> | undefined {
  if (choice?.access?.write.kind !== 'nobody') return choice
  const write: Rule = { kind: 'not', part: open }
  return { ...choice, access: { ...choice.access, write } }
}
