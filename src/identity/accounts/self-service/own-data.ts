/** The collections whose items belong to users, and the effect of deleting an account on them. */
import { allOf, type Filter, type Param } from '../../../engine/plan/plan.ts'
import { where } from '../../../engine/plan/system-plans.ts'
import type { Collection, Field, Model, ToOne } from '../../../model/model.ts'
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

/**
 * Matches the items of a collection that belong to the user of an argument, for a read without rules; undefined if none can.
 * `isShown`: whether the user may see that a field names them, where the model does not mark it as `personal`.
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
    if (reference === undefined || reference.personal === false) return []
    if (reference.target === 'users') {
      const isOwner = reference.personal === true || (namesCaller(collection, field) && isShown(field))
      return isOwner ? [{ kind: 'compare', field: name, operator: 'eq', param: user }] : []
    }
    const target = reference.personal === true ? collections.get(reference.target) : undefined
    const filter = target && ownedBy(collections, target, user, () => false)
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

interface Reference extends Consequence {
  readonly relation: ToOne
}

function referencesTo(target: string, { collections }: Pick<Model, 'collections'>): readonly Reference[] {
  return [...collections.values()].flatMap(collection =>
    [...collection.relations.values()].flatMap(relation =>
      relation.kind === 'one' && relation.target === target
        ? [{ relation, collection: collection.name, field: relation.field }]
        : [],
    ),
  )
}

/** The effect of deleting a user, according to the model. */
export function deletionPlan(model: Pick<Model, 'collections'>): DeletionPlan {
  const deleted = new Set<string>()
  const cleared: Consequence[] = []
  for (let reached = ['users']; reached.length > 0; ) {
    const references = reached.flatMap(target => referencesTo(target, model))
    cleared.push(...references.filter(({ relation }) => relation.onDelete === 'clear'))
    const cascading = references.filter(({ relation }) => relation.onDelete === 'cascade')
    reached = [...new Set(cascading.map(({ collection }) => collection))].filter(name => !deleted.has(name))
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

type Collections = Model['collections']

/** Matches the items that name a user, or something that is deleted with the user, by a relation. */
function alongDeleted(
  collections: Collections,
  relation: ToOne,
  visited: readonly string[],
): Filter | undefined {
  if (relation.target === 'users') return where(relation.field)
  const target = collections.get(relation.target)
  const filter = target && deletedWithUser(collections, target, visited)
  return filter && { kind: 'related', relation: relation.name, filter }
}

/** Matches the items that are deleted with a user. Not those that only a circle of relations leads to. */
function deletedWithUser(
  collections: Collections,
  { name, relations }: Collection,
  visited: readonly string[] = [],
): Filter | undefined {
  if (visited.includes(name)) return undefined
  return anyOf(
    [...relations.values()].flatMap(relation => {
      const isDeleted = relation.kind === 'one' && relation.onDelete === 'cascade'
      return (isDeleted && alongDeleted(collections, relation, [...visited, name])) || []
    }),
  )
}

/** Relations whose items prevent the deletion of a user, each with the filter of these items for `listShape`. */
export function blockingReferences({
  collections,
}: Pick<Model, 'collections'>): readonly (Consequence & { readonly filter: Filter })[] {
  return [...collections.values()].flatMap(collection => {
    const deleted = deletedWithUser(collections, collection)
    return [...collection.relations.values()].flatMap(relation => {
      if (relation.kind !== 'one' || relation.onDelete !== 'restrict') return []
      const refers = alongDeleted(collections, relation, [])
      if (refers === undefined) return []
      const filter = deleted ? allOf([refers, { kind: 'not', part: deleted }]) : refers
      return [{ collection: collection.name, field: relation.field, filter }]
    })
  })
}

function anyOf(parts: readonly Filter[]): Filter | undefined {
  const [only] = parts
  return parts.length < 2 ? only : { kind: 'or', parts }
}
