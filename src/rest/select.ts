/** `fields` and `include` → what is selected of each item. */
import type { Deprecation } from '../model/model.ts'
import { didYouMean } from '../model/nearest.ts'
import type { Param, Selected, SelectedRelation } from '../plan/plan.ts'
import { echo, parameterFault } from './parameters.ts'
import type { CollectionView } from './view.ts'

/** Included to-many relations give at most this many items, in the order of their ids. */
export const includedLimit = 100
const DEEPEST_INCLUDE = 3
const MOST_INCLUDES = 10

export interface Selection {
  readonly select: readonly Selected[]
  readonly secret: boolean
  readonly deprecations: readonly Deprecation[]
  /** Whether it is what a read without parameters selects. */
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
      throw parameterFault(name, 'given_twice', `The parameter "${name}" lists ${echo(listed)} twice.`)
    }
  })
  return names
}

/** A name in `fields`, `sort` or `include` that is not there, or that the caller may not read. */
export function unknownName(
  parameter: string,
  what: 'field' | 'relation',
  name: string,
  { collection, fields, relations }: CollectionView,
) {
  const meant = didYouMean(name, what === 'field' ? fields.keys() : relations.keys())
  const message = `The parameter "${parameter}" names ${echo(name)}, which is no ${what} of ${collection.name}.${meant}`
  return parameterFault(parameter, `unknown_${what}`, message)
}

function parseIncludes(value: string): Includes {
  const tree: Includes = new Map()
  for (const path of parseNames('include', value, MOST_INCLUDES)) {
    const names = path.split('.')
    if (names.length > DEEPEST_INCLUDE) {
      const message = `The parameter "include" goes at most ${DEEPEST_INCLUDE} relations deep, not ${names.length}.`
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

function selectFields(view: CollectionView, value: string): readonly Selected[] {
  return parseNames('fields', value, view.fields.size + 1).map(name => {
    if (!view.fields.has(name)) throw unknownName('fields', 'field', name, view)
    return { kind: 'field', key: name, field: name }
  })
}

/** What is under way while the tree of includes is walked. */
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
  const relation = view.relations.get(name)
  const target = relation && view.view.get(relation.target)
  if (!relation || !target) throw unknownName('include', 'relation', name, view)
  const many = relation.kind !== 'one'
  if (many && inMany) {
    const message = `The parameter "include" takes one to-many relation in a path; ${echo(name)} is a second one.`
    throw parameterFault('include', 'too_deep', message)
  }
  gatherFrom(target, target.select, walk)
  const select = [...target.select, ...selectRelations(target, nested, walk, inMany || many)]
  if (relation.kind === 'one') return { kind: 'relation', key: name, relation: name, select, list: undefined }
  const list = { filter: undefined, sort: [{ field: 'id', descending: false }], limit: walk.limit() }
  return { kind: 'relation', key: name, relation: name, select, list }
}

function selectRelations(view: CollectionView, includes: Includes, walk: Walk, inMany: boolean) {
  return [...includes].map(([name, nested]) => selectRelation(view, name, nested, walk, inMany))
}

function gatherFrom(view: CollectionView, select: readonly Selected[], gathered: Gathered): void {
  if (view.secret) gathered.secret = true
  if (view.collection.deprecated) gathered.deprecations.push(view.collection.deprecated)
  for (const selected of select) {
    const deprecated = selected.kind === 'field' && view.fields.get(selected.field)?.deprecated
    if (deprecated) gathered.deprecations.push(deprecated)
  }
}

/**
 * What `fields` and `include` select; undefined stands for a parameter that was left out.
 * `limit` gives the argument that holds `includedLimit`. Throws BAD_REQUEST for what is not there.
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
