/** `fields` and `include` → the selection for each item. */

import { fieldNames, findField, findRelation, namedField, quoted } from '../../../engine/plan/names.ts'
import { orderById } from '../../../engine/plan/order.ts'
import {
  maxIncludeDepth,
  type Param,
  type Selected,
  type SelectedRelation,
} from '../../../engine/plan/plan.ts'
import type { Deprecation } from '../../../model/model.ts'
import { type CollectionView, viewOf } from './collection-view.ts'
import { parameterFault, refuseIn } from './query-string.ts'

const maxIncludes = 10

export interface Selection {
  readonly select: readonly Selected[]
  readonly secret: boolean
  readonly deprecations: readonly Deprecation[]
  /** Whether a read without parameters selects the same. */
  readonly isDefault: boolean
}

/** A tree of relation names. */
interface Includes extends Map<string, Includes> {}

interface SelectionFacts {
  secret: boolean
  readonly deprecations: Deprecation[]
}

/** The names of a comma-separated list. Throws BAD_REQUEST for an empty or repeated one. */
export function parseNames(name: string, value: string, max: number): readonly string[] {
  const names = value.split(',', max + 1)
  if (names.length > max) {
    throw parameterFault(name, 'too_many', `The parameter "${name}" may list at most ${max} names.`)
  }
  names.forEach((listedName, index) => {
    if (listedName === '')
      throw parameterFault(name, 'empty', `The parameter "${name}" has an empty name in its list.`)
    if (names.indexOf(listedName) !== index) {
      throw parameterFault(name, 'given_twice', `The parameter "${name}" lists ${quoted(listedName)} twice.`)
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
  const listedNames = parseNames('fields', value, fieldNames(view).length + 2)
  const names = listedNames.flatMap(name => (name === allFields ? [...view.fields.keys()] : [name]))
  return [...new Set(names)].map(name => {
    findField(view, name, refuseIn('fields'))
    return { kind: 'field', key: name, field: name }
  })
}

/** The state of a walk over the tree of includes. */
interface Walk extends SelectionFacts {
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
  addFacts(target, target.select, walk)
  const select = [...target.select, ...selectRelations(target, nested, walk, inMany || many)]
  if (relation.kind === 'one') return { kind: 'relation', key: name, relation: name, select, list: undefined }
  const list = { filter: undefined, sort: orderById, limit: walk.limit() }
  return { kind: 'relation', key: name, relation: name, select, list }
}

function selectRelations(view: CollectionView, includes: Includes, walk: Walk, inMany: boolean) {
  return [...includes].map(([name, nested]) => selectRelation(view, name, nested, walk, inMany))
}

function addFacts(view: CollectionView, select: readonly Selected[], facts: SelectionFacts): void {
  if (view.secret) facts.secret = true
  if (view.collection.deprecated) facts.deprecations.push(view.collection.deprecated)
  for (const selected of select) {
    const deprecated = selected.kind === 'field' && namedField(view, selected.field)?.deprecated
    if (deprecated) facts.deprecations.push(deprecated)
  }
}

/**
 * The selection of `fields` and `include`, each undefined if it was omitted. `limit` returns the index of the argument
 * `includedLimit`. Throws BAD_REQUEST for names that do not exist for the caller.
 */
export function makeSelection(
  view: CollectionView,
  fields: string | undefined,
  include: string | undefined,
  limit: () => Param,
): Selection {
  const walk: Walk = { secret: false, deprecations: [], limit }
  const selectedFields = fields === undefined ? view.select : selectFields(view, fields)
  addFacts(view, selectedFields, walk)
  const relations = include === undefined ? [] : selectRelations(view, parseIncludes(include), walk, false)
  return {
    select: relations.length === 0 ? selectedFields : [...selectedFields, ...relations],
    secret: walk.secret,
    deprecations: walk.deprecations,
    isDefault: fields === undefined && include === undefined,
  }
}
