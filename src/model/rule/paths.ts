/** The paths of checked rules, a field or a field along to-one relations, and the rows that rules read. */
import { leavesOf } from '../../base/predicate.ts'
import type { Collection, Field, ToOne } from '../model.ts'
import type { Rule, RuleOfKind } from './rule.ts'

export interface FollowedPath {
  readonly steps: readonly { readonly relation: ToOne; readonly target: Collection }[]
  readonly field: Field
}

/** `collectionOf`: throws for an unknown name. */
export function followPath(
  path: string,
  from: Collection,
  collectionOf: (name: string) => Collection,
): FollowedPath {
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

/** Columns that a rule reads. */
export interface ReadColumns {
  readonly collection: Collection
  /** Of the row that the rule is about, of another row, or of the caller's own row of `users`. */
  readonly of: 'row' | 'other' | 'caller'
  readonly columns: readonly string[]
}

type Visit = (columns: ReadColumns) => void

/** Visits everything that a rule reads. `collectionOf`: throws for an unknown name. */
export function visitReads(
  rule: Rule,
  collection: Collection,
  collectionOf: (name: string) => Collection,
  visit: Visit,
  of: ReadColumns['of'] = 'row',
): void {
  for (const leaf of leavesOf(rule)) {
    if (leaf.kind === 'related') visitRelated(leaf, { collection, of }, collectionOf, visit)
    if (leaf.kind !== 'compare') continue
    for (const path of pathsOf(leaf)) visitPath(path, { collection, of }, collectionOf, visit)
    const { operand } = leaf
    if (operand.kind === 'caller')
      visit({ collection: collectionOf('users'), of: 'caller', columns: [operand.field] })
  }
}

function visitPath(
  path: string,
  start: Omit<ReadColumns, 'columns'>,
  collectionOf: (name: string) => Collection,
  visit: Visit,
): void {
  const { steps, field } = followPath(path, start.collection, collectionOf)
  let from = start
  for (const { relation, target } of steps) {
    visit({ ...from, columns: [relation.field] })
    from = { collection: target, of: 'other' }
  }
  visit({ ...from, columns: [field.name] })
}

function visitRelated(
  { relation: name, rule }: RuleOfKind<'related'>,
  from: Omit<ReadColumns, 'columns'>,
  collectionOf: (name: string) => Collection,
  visit: Visit,
): void {
  const relation = from.collection.relations.get(name)
  if (relation === undefined) throw new Error(`${from.collection.name} has no relation ${name}`)
  const target = collectionOf(relation.target)
  visit({ ...from, columns: relation.kind === 'one' ? [relation.field] : [] })
  visit({ collection: target, of: 'other', columns: relation.kind === 'many' ? [relation.field] : [] })
  if (relation.kind === 'manyToMany') {
    visit({
      collection: collectionOf(relation.through),
      of: 'other',
      columns: [relation.from, relation.to],
    })
  }
  visitReads(rule, target, collectionOf, visit, 'other')
}
