/** The paths of checked rules, a field or a field along to-one relations, and the rows that rules read. */
import { leavesOf } from '../../base/predicate.ts'
import type { Collection, Field, ToOne } from '../model.ts'
import type { Rule, RuleOfKind } from './rule.ts'

export interface FollowedPath {
  readonly steps: readonly { readonly relation: ToOne; readonly target: Collection }[]
  readonly field: Field
}

/** `collectionOf`: throws for an unknown name. */
export function followPath(path: string, from: Collection, collectionOf: CollectionOf): FollowedPath {
  const names = path.split('.')
  const name = names.pop() ?? ''
  let last = from
  const steps = names.map(step => {
    const relation = last.relations.get(step)
    if (relation?.kind !== 'one') throw new Error(`${last.name}.${step} is not a relation to one item`)
    last = collectionOf(relation.target)
    return { relation, target: last }
  })
  const field = last.fields.get(name)
  if (field === undefined) throw new Error(`${last.name} has no field ${name}`)
  return { steps, field }
}

/** The paths of a comparison. */
export function pathsOf({ field, operand }: RuleOfKind<'compare'>): readonly string[] {
  return operand.kind === 'field' ? [field, operand.field] : [field]
}

/** A row that a rule reads: the one that it is about, another one, or the caller's own row of `users`. */
interface ReadRow {
  readonly collection: Collection
  readonly of: 'row' | 'other' | 'caller'
}

export interface ReadColumns extends ReadRow {
  readonly columns: readonly string[]
}

type CollectionOf = (name: string) => Collection

/** Everything that a rule for rows of a collection reads. `collectionOf`: throws for an unknown name. */
export function readsOf(rule: Rule, collection: Collection, collectionOf: CollectionOf) {
  return readsFrom({ collection, of: 'row' }, rule, collectionOf)
}

function readsFrom(row: ReadRow, rule: Rule, collectionOf: CollectionOf): readonly ReadColumns[] {
  return leavesOf(rule).flatMap(leaf => {
    if (leaf.kind === 'related') return readsRelated(row, leaf, collectionOf)
    if (leaf.kind !== 'compare') return []
    const reads = pathsOf(leaf).flatMap(path => readsAlong(path, row, collectionOf))
    const { operand } = leaf
    if (operand.kind !== 'caller') return reads
    return [...reads, { collection: collectionOf('users'), of: 'caller', columns: [operand.field] }]
  })
}

function readsAlong(path: string, row: ReadRow, collectionOf: CollectionOf): readonly ReadColumns[] {
  const { steps, field } = followPath(path, row.collection, collectionOf)
  const rows = [row, ...steps.map(({ target }) => ({ collection: target, of: 'other' }) as const)]
  return rows.map((each, index) => ({ ...each, columns: [steps[index]?.relation.field ?? field.name] }))
}

function readsRelated(
  row: ReadRow,
  { relation: name, rule }: RuleOfKind<'related'>,
  collectionOf: CollectionOf,
): readonly ReadColumns[] {
  const relation = row.collection.relations.get(name)
  if (relation === undefined) throw new Error(`${row.collection.name} has no relation ${name}`)
  const target: ReadRow = { collection: collectionOf(relation.target), of: 'other' }
  const through: ReadColumns[] =
    relation.kind === 'manyToMany'
      ? [{ collection: collectionOf(relation.through), of: 'other', columns: [relation.from, relation.to] }]
      : []
  return [
    { ...row, columns: relation.kind === 'one' ? [relation.field] : [] },
    { ...target, columns: relation.kind === 'many' ? [relation.field] : [] },
    ...through,
    ...readsFrom(target, rule, collectionOf),
  ]
}
