/** `fields` and `include` → the selection for each item. */
import type { Deprecation } from '../../model/model.ts'
import { fieldNames, findField, findRelation, namedField, quoted } from '../../plan/names.ts'
import { orderById } from '../../plan/order.ts'
import type { Param, Selected, SelectedRelation } from '../../plan/plan.ts'
import { type CollectionView, viewOf } from './collection-view.ts'
import { parameterFault, refuseIn } from './query-string.ts'

/** The maximum number of items of an included to-many relation, in the order of their ids. */
export const includedLimit = 100
const maxIncludeDepth = 3
const maxIncludes = 10

export interface Selection {
  readonly select: readonly Selected[]
  readonly secret: boolean
  readonly deprecations: readonly Deprecation[]
  /** Whether a read without parameters selects the same. */
  readonly plain: boolean
}

/** A tree of relation names. */
interface Includes extends Map<string, Includes> {}

interface Gathered {
  secret: boolean
  readonly deprecations: Deprecation[]
}

/** The names of a comma-separated list. Throws BAD_REQUEST for an empty or repeated one. */
export function parseNames(name: string, value: string, most: number): readonly string[] {
  const names = value.split(',', most + 1)
  if (names.length > most) {
    throw parameterFault(name, 'too_many', `The parameter "${name}" may list at most ${most} names.`)
  }
  names.forEach((listed, index) => {
    if (listed === '')
      throw parameterFault(name, 'empty', `The parameter "${name}" has an empty name in its list.`)
    if (names.indexOf(listed) !== index) {
      throw parameterFault(name, 'given_twice', `The parameter "${name}" lists ${quoted(listed)} twice.`)
    }
  })
  return names
}

function parseIncludes(value: string): Includes {
  const tree: Includes = new Map()
  for (const path of parseNames('include', value, maxIncludes)) {
    const names = path.split('.')
    if (names.length > maxIncludeDepth) {
      const message = `The parameter "include" goes at most ${maxIncludeDepth} relations deep, not ${names.length}.`
      throw parameterFault('include', 'too_deep', message)
    }
    let branch = tree
    for (const name of names) {
      const next: Includes = branch.get(name) ?? new Map()
      branch.set(name, next)
      branch = next
    }
  }
  return tree
}

/** In `fields`: all fields that are not computed. */
const allFields = '*'

function selectFields(view: CollectionView, value: string): readonly Selected[] {
  const named = parseNames('fields', value, fieldNames(view).length + 2)
  const names = named.flatMap(name => (name === allFields ? [...view.fields.keys()] : [name]))
  return [...new Set(names)].map(name => {
    findField(view, name, refuseIn('fields'))
    return { kind: 'field', key: name, field: name }
  })
}

/** The state of a walk over the tree of includes. */
interface Walk extends Gathered {
  readonly limit: () => Param
}

function selectRelation(
  view: CollectionView,
  name: string,
  nested: Includes,
  walk: Walk,
  inMany: boolean,
): SelectedRelation {
  const relation = findRelation(view, name, refuseIn('include'))
  const target = viewOf(view, relation)
  const many = relation.kind !== 'one'
  if (many && inMany) {
    const message = `The parameter "include" takes one to-many relation in a path; ${quoted(name)} is a second one.`
    throw parameterFault('include', 'too_deep', message)
  }
  gatherFrom(target, target.select, walk)
  const select = [...target.select, ...selectRelations(target, nested, walk, inMany || many)]
  if (relation.kind === 'one') return { kind: 'relation', key: name, relation: name, select, list: undefined }
  const list = { filter: undefined, sort: orderById, limit: walk.limit() }
  return { kind: 'relation', key: name, relation: name, select, list }
}

function selectRelations(view: CollectionView, includes: Includes, walk: Walk, inMany: boolean) {
  return [...includes].map(([name, nested]) => selectRelation(view, name, nested, walk, inMany))
}

function gatherFrom(view: CollectionView, select: readonly Selected[], gathered: Gathered): void {
  if (view.secret) gathered.secret = true
  if (view.collection.deprecated) gathered.deprecations.push(view.collection.deprecated)
  for (const selected of select) {
    const deprecated = selected.kind === 'field' && namedField(view, selected.field)?.deprecated
    if (deprecated) gathered.deprecations.push(deprecated)
  }
}

/**
 * The selection of `fields` and `include`, each undefined if it was omitted. `limit` returns the argument's index of
 * `includedLimit`. Throws BAD_REQUEST for names that do not exist for the caller.
 */
export function makeSelection(
  view: CollectionView,
  fields: string | undefined,
  include: string | undefined,
  limit: () => Param,
): Selection {
  const walk: Walk = { secret: false, deprecations: [], limit }
  const own = fields === undefined ? view.select : selectFields(view, fields)
  gatherFrom(view, own, walk)
  const relations = include === undefined ? [] : selectRelations(view, parseIncludes(include), walk, false)
  return {
    select: relations.length === 0 ? own : [...own, ...relations],
    secret: walk.secret,
    deprecations: walk.deprecations,
    plain: fields === undefined && include === undefined,
  }
}
