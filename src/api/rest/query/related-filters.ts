/** Filters along relations, `author.role=admin`: the path to the field, and the conditions of all paths as one filter. */

import { findRelation, quoted, type Refuse } from '../../../engine/plan/names.ts'
import { allOf, type Filter, maxRelationsDeep, type Param } from '../../../engine/plan/plan.ts'
import type { Deprecation, Relation } from '../../../model/model.ts'
import { type CollectionView, viewOf } from './collection-view.ts'
import type { FilterTemplate } from './list-template.ts'
import { parameterFault } from './query-string.ts'

/** In one parameter's name: each multiplies the number of rows that a condition reads. */
const maxToManyRelations = 2
/** In one request: each is a subquery. Conditions on the same related item share one. */
const maxRelatedConditions = 10

/** The end of a path of relations. */
interface PathEnd {
  readonly view: CollectionView
  readonly deprecations: readonly Deprecation[]
  /** Whether the path leads through a collection whose items must not be stored. */
  readonly secret: boolean
  /** The number of to-many relations. */
  readonly toMany: number
}

/** Creates the error of an unknown parameter. `index`: that of the unknown name in `names`. */
export function refuseAt(parameter: string, names: readonly string[], index: number): Refuse {
  return ({ suggestion }) => {
    const hint =
      suggestion === undefined ? '' : ` Did you mean \`${names.with(index, suggestion).join('.')}\`?`
    const message = `The parameter ${quoted(parameter)} is not known here.${hint}`
    return parameterFault(parameter, 'unknown_parameter', message)
  }
}

/**
 * Follows the relations before the field in a parameter's name. `names`: the relations, then the field. `refuse`: creates the
 * error of the name with this index.
 * Throws BAD_REQUEST for a relation that does not exist for the caller, and for too many relations.
 */
export function follow(
  start: CollectionView,
  parameter: string,
  names: readonly string[],
  refuse = (index: number) => refuseAt(parameter, names, index),
): PathEnd {
  const path = names.slice(0, -1)
  if (path.length > maxRelationsDeep) throw tooDeep(parameter, `${maxRelationsDeep} relations`, path.length)
  const relations: Relation[] = []
  const deprecations: Deprecation[] = []
  let view = start
  let secret = false
  for (const [index, name] of path.entries()) {
    const relation = findRelation(view, name, refuse(index))
    const target = viewOf(view, relation)
    deprecations.push(...deprecationsOf(relation, view, target))
    relations.push(relation)
    secret ||= target.secret
    view = target
  }
  const toMany = relations.filter(({ kind }) => kind !== 'one').length
  if (toMany > maxToManyRelations) throw tooDeep(parameter, `${maxToManyRelations} to-many relations`, toMany)
  return { view, deprecations, secret, toMany }
}

function tooDeep(parameter: string, limit: string, count: number): Error {
  const message = `The parameter ${quoted(parameter)} follows at most ${limit}, not ${count}.`
  return parameterFault(parameter, 'too_deep', message)
}

/** The deprecations of the field that holds the relation, and of the target collection. */
function deprecationsOf(
  relation: Relation,
  from: CollectionView,
  target: CollectionView,
): readonly Deprecation[] {
  const link = relation.kind === 'manyToMany' ? undefined : relation.field
  const holder = relation.kind === 'one' ? from : target
  const field = link === undefined ? undefined : holder.fields.get(link)
  return [field?.deprecated, target.collection.deprecated].filter(deprecation => deprecation !== undefined)
}

/** The conditions on one item: at the root, on the list's own item; in each branch, on a related item. */
interface Branch {
  readonly filters: Filter[]
  readonly related: Map<string, Branch>
}

const emptyBranch = (): Branch => ({ filters: [], related: new Map() })

/**
 * The conditions of one request. Conditions along the same relations apply to the same related item, unless they are
 * negated or belong to different alternatives.
 */
export class Conditions {
  readonly #root = emptyBranch()
  readonly #alternatives = new Map<number, Branch>()
  #relatedCount = 0

  /** `parameter`: the parameter's name. Throws BAD_REQUEST if the request has too many related conditions. */
  add(parameter: string, template: FilterTemplate, param: Param): void {
    const { path, field, operator, isNegated } = template
    const comparison: Filter = { kind: 'compare', field: field.name, operator, param }
    let branch = this.#branch(template)
    if (isNegated) {
      branch.filters.push({ kind: 'not', part: this.#along(path, comparison, parameter) })
      return
    }
    for (const name of path) branch = branch.related.get(name) ?? this.#grow(branch, name, parameter)
    branch.filters.push(comparison)
  }

  get filter(): Filter | undefined {
    const alternatives = [...this.#alternatives.values()].map(branch => allOf(filtersOf(branch)))
    const [only] = alternatives
    const either: Filter[] =
      alternatives.length > 1 ? [{ kind: 'or', parts: alternatives }] : only ? [only] : []
    const filters = [...filtersOf(this.#root), ...either]
    return filters.length === 0 ? undefined : allOf(filters)
  }

  #branch({ alternative }: FilterTemplate): Branch {
    if (alternative === undefined) return this.#root
    const branch = this.#alternatives.get(alternative) ?? emptyBranch()
    this.#alternatives.set(alternative, branch)
    return branch
  }

  #along(path: readonly string[], filter: Filter, parameter: string): Filter {
    return path.reduceRight<Filter>((within, relation) => {
      this.#count(parameter)
      return { kind: 'related', relation, filter: within }
    }, filter)
  }

  #grow(branch: Branch, name: string, parameter: string): Branch {
    this.#count(parameter)
    const grown = emptyBranch()
    branch.related.set(name, grown)
    return grown
  }

  #count(parameter: string): void {
    this.#relatedCount++
    if (this.#relatedCount <= maxRelatedConditions) return
    const message = `The parameter ${quoted(parameter)} is one too many: the filters of a request follow at most ${maxRelatedConditions} relations.`
    throw parameterFault(parameter, 'too_many', message)
  }
}

function filtersOf({ filters, related }: Branch): readonly Filter[] {
  const relatedFilters = [...related].map(
    ([relation, branch]): Filter => ({ kind: 'related', relation, filter: allOf(filtersOf(branch)) }),
  )
  return [...filters, ...relatedFilters]
}
