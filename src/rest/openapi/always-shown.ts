/** Whether every caller who may read an item is given a field of it, if only as null. */
import type { Collection, Field, Model } from '../../model/model.ts'
import type { Rule } from '../../model/rule.ts'
import { namesFor, staticRule } from '../../plan/guard.ts'
import { type AccessClass, anonymous, app, user } from '../../principal.ts'

/** The rules that it is made of, itself among them. */
function partsOf(rule: Rule): readonly Rule[] {
  if (rule.kind === 'and' || rule.kind === 'or') return [rule, ...rule.rules.flatMap(partsOf)]
  if (rule.kind === 'not' || rule.kind === 'related') return [rule, ...partsOf(rule.rule)]
  return [rule]
}

/** Scopes and claims make more kinds of callers than can be tried. */
function dependsOnCredential(rule: Rule): boolean {
  return rule.kind === 'scope' || (rule.kind === 'compare' && rule.operand.kind === 'claim')
}

/** One caller for each way in which the rules can turn out before a row is looked at. */
function callersOf({ singular }: Collection, parts: readonly Rule[]): readonly AccessClass[] {
  const named = parts.flatMap(part => (part.kind === 'role' ? part.roles : []))
  const roles = new Set(['', ...named])
  return [
    anonymous('').access,
    app('', new Set([`read:${singular}`])).access,
    ...[...roles].map(role => user(1, role, 'all').access),
  ]
}

export function isAlwaysShown(model: Model, collection: Collection, field: Field): boolean {
  const rules = [collection.access.read, field.access.read]
  if (field.access.read.kind === 'anyone') return true
  const parts = rules.flatMap(partsOf)
  if (parts.some(dependsOnCredential)) return false
  return callersOf(collection, parts).every(
    caller =>
      staticRule(model, collection, collection.access.read, caller) === 'never' ||
      namesFor(model, collection, caller).fields.has(field.name),
  )
}
