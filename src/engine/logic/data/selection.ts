/** `fields`, `include` and `sort` of `data` → the selection and order of a plan. */
import { findField, findRelation, findSortable, type Names, quoted } from '../../plan/names.ts'
import { orderById, type Sort, type TotalOrder, totalOrder } from '../../plan/order.ts'
import { maxIncludeDepth, type Param, type Selected } from '../../plan/plan.ts'
import { selected } from '../../plan/system-plans.ts'
import { badCall, refuseAt } from './call-error.ts'
import type { ReadOptions } from './data.ts'
import type { NamesOf } from './where.ts'

const maxSortKeys = 8

interface IncludeTree extends Map<string, IncludeTree> {}

/** `limit`: the parameter of `includedLimit`. */
export function selectionOf(
  { fields, include = [] }: ReadOptions,
  names: Names,
  place: string,
  namesOf: NamesOf,
  limit: () => Param,
): readonly Selected[] {
  const ownFields = fields === undefined ? selected([...names.fields.keys()]) : fieldsOf(fields, names, place)
  const tree: IncludeTree = new Map()
  for (const path of include) addPath(tree, path, place)
  return [...ownFields, ...relationsOf(tree, names, `${place}: include`, namesOf, limit)]
}

/** `*` stands for all fields that are not computed, as in REST. */
function fieldsOf(fields: readonly string[], names: Names, place: string): readonly Selected[] {
  const unique = new Set(fields.flatMap(name => (name === '*' ? [...names.fields.keys()] : [name])))
  return [...unique].map(name => {
    findField(names, name, refuseAt(`${place}: fields`))
    return { kind: 'field', key: name, field: name }
  })
}

function addPath(tree: IncludeTree, path: string, place: string): void {
  const steps = path.split('.')
  if (steps.length > maxIncludeDepth) {
    throw badCall(`${place}: include`, `goes more than ${maxIncludeDepth} relations deep in ${quoted(path)}.`)
  }
  let branch = tree
  for (const step of steps) {
    const next: IncludeTree = branch.get(step) ?? new Map()
    branch.set(step, next)
    branch = next
  }
}

function relationsOf(
  tree: IncludeTree,
  names: Names,
  place: string,
  namesOf: NamesOf,
  limit: () => Param,
): readonly Selected[] {
  return [...tree].map(([name, nested]) => {
    const relation = findRelation(names, name, refuseAt(place))
    const target = namesOf(relation.target)
    const list = relation.kind === 'one' ? undefined : { filter: undefined, sort: orderById, limit: limit() }
    const select = [
      ...selected([...target.fields.keys()]),
      ...relationsOf(nested, target, place, namesOf, limit),
    ]
    return { kind: 'relation', key: name, relation: name, select, list }
  })
}

/** `['-created_at', 'title']`. */
export function orderOf(sort: readonly string[] | undefined, names: Names, place: string): TotalOrder {
  if (sort === undefined) return orderById
  if (sort.length > maxSortKeys) throw badCall(`${place}: sort`, `has more than ${maxSortKeys} names.`)
  const keys = new Map<string, Sort>()
  for (const name of sort) {
    const descending = name.startsWith('-')
    const field = descending ? name.slice(1) : name
    findSortable(names, field, refuseAt(`${place}: sort`))
    if (!keys.has(field)) keys.set(field, { field, descending })
  }
  return totalOrder([...keys.values()])
}
