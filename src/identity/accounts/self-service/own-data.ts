/** The collections whose items belong to users, and the effect of deleting an account on them. */
import type { Filter, Param } from '../../../engine/plan/plan.ts'
import type { Collection, Field, Model } from '../../../model/model.ts'
import { referencesTo } from '../../../model/references.ts'
import type { Rule } from '../../../model/rule/rule.ts'

/** Whether the rule, or a part of it, is `owner(field)`. */
function namesOwner(rule: Rule, field: string): boolean {
  if (rule.kind === 'and' || rule.kind === 'or') return rule.parts.some(part => namesOwner(part, field))
  if (rule.kind !== 'compare' || rule.comparison !== 'eq') return false
  return rule.field === field && rule.operand.kind === 'userId'
}

/** Whether a new item names the caller in the field, or a rule requires it of who reads or writes it. */
function namesCaller({ access }: Collection, field: Field): boolean {
  if (field.default?.kind === 'currentUser') return true
  return Object.values(access).some(rule => namesOwner(rule, field.name))
}

/** Matches the items that belong to the user by marked relations alone, whether or not the user may see them. */
function markedBy(
  collections: Model['collections'],
  { fields }: Collection,
  user: Param,
): Filter | undefined {
  return anyOf(
    [...fields.values()].flatMap(({ name, reference }): readonly Filter[] => {
      if (reference?.personal !== true) return []
      if (reference.target === 'users') return [{ kind: 'compare', field: name, operator: 'eq', param: user }]
      const target = collections.get(reference.target)
      const filter = target && markedBy(collections, target, user)
      return filter ? [{ kind: 'related', relation: reference.name, filter }] : []
    }),
  )
}

/**
 * Matches the items of a collection that belong to the user of an argument, for a read without rules; undefined if none can.
 * `isShown`: whether the user may read a field of these items. Otherwise the items themselves would reveal what it names.
 */
export function ownedBy(
  collections: Model['collections'],
  collection: Collection,
  user: Param,
  isShown: (field: Field) => boolean,
): Filter | undefined {
  if (collection.name === 'users') return undefined
  const parts = [...collection.fields.values()].flatMap((field): readonly Filter[] => {
    const { name, reference } = field
    if (reference === undefined || reference.personal === false || !isShown(field)) return []
    if (reference.target === 'users') {
      const isOwner = reference.personal === true || namesCaller(collection, field)
      return isOwner ? [{ kind: 'compare', field: name, operator: 'eq', param: user }] : []
    }
    const target = reference.personal === true ? collections.get(reference.target) : undefined
    const filter = target && markedBy(collections, target, user)
    return filter ? [{ kind: 'related', relation: reference.name, filter }] : []
  })
  return anyOf(parts)
}

/** A field whose items refer to the account, or to something that is deleted with it. */
export interface Consequence {
  readonly collection: string
  readonly field: string
}

export interface DeletionPlan {
  /** The names of the collections whose items are deleted too. */
  readonly deleted: readonly string[]
  /** Items that stay with an empty reference. */
  readonly cleared: readonly Consequence[]
}

/** The effect of deleting a user, according to the model. */
export function deletionPlan(model: Pick<Model, 'collections'>): DeletionPlan {
  const deleted = new Set<string>()
  const cleared: Consequence[] = []
  for (let reached = ['users']; reached.length > 0; ) {
    const references = reached.flatMap(target => referencesTo({ name: target }, model))
    for (const { collection, field, onDelete } of references)
      if (onDelete === 'clear') cleared.push({ collection: collection.name, field: field.name })
    const cascading = references.filter(({ onDelete }) => onDelete === 'cascade')
    reached = [...new Set(cascading.map(({ collection }) => collection.name))].filter(
      name => !deleted.has(name),
    )
    for (const name of reached) deleted.add(name)
  }
  return {
    deleted: [...deleted].filter(name => name !== 'users'),
    cleared: distinct(cleared),
  }
}

function distinct(consequences: readonly Consequence[]): readonly Consequence[] {
  const entries = consequences.map(({ collection, field }): readonly [string, Consequence] => [
    `${collection}.${field}`,
    { collection, field },
  ])
  return [...new Map(entries).values()]
}

function anyOf(parts: readonly Filter[]): Filter | undefined {
  const [only] = parts
  return parts.length < 2 ? only : { kind: 'or', parts }
}
