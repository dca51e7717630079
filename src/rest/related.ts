/** Filters along relations, `author.role=admin`: the way to the field, and the conditions along all ways as one filter. */
import type { Deprecation, Relation } from '../model/model.ts'
import { nearest } from '../model/nearest.ts'
import type { Filter, Param } from '../plan/plan.ts'
import type { FilterTemplate } from './list-template.ts'
import { echo, parameterFault } from './parameters.ts'
import type { CollectionView } from './view.ts'

/** In one parameter's name. */
export const maxRelationsDeep = 3
/** In one parameter's name: each multiplies the rows that a condition looks at. */
export const maxToManyRelations = 2
/** In one request: each is a subquery. Conditions on the same related item count once. */
export const maxRelatedConditions = 10

/** The end of a path of relations. */
interface Followed {
  readonly view: CollectionView
  readonly deprecations: readonly Deprecation[]
  /** Whether the way leads through a collection whose answers nobody may keep. */
  readonly secret: boolean
}

/** A 400 as for a parameter that nobody knows. `at`: which of the names is not there, `known`: those that could stand there. */
export function unknownName(
  parameter: string,
  names: readonly string[],
  at: number,
  known: Iterable<string>,
) {
  const meant = nearest(names[at] ?? '', known)
  const better = meant === undefined ? '' : ` Did you mean \`${names.with(at, meant).join('.')}\`?`
  const message = `The parameter ${echo(parameter)} is not known here.${better}`
  return parameterFault(parameter, 'unknown_parameter', message)
}

/**
 * Where the relations lead that stand before the field in a parameter's name. `names`: they, then the field.
 * Throws BAD_REQUEST where a relation is not there, or is one that the caller may not read, and for too many.
 */
export function follow(start: CollectionView, parameter: string, names: readonly string[]): Followed {
  const path = names.slice(0, -1)
  if (path.length > maxRelationsDeep) throw tooDeep(parameter, `${maxRelationsDeep} relations`, path.length)
  const relations: Relation[] = []
  const deprecations: Deprecation[] = []
  let view = start
  let secret = false
  for (const [at, name] of path.entries()) {
    const relation = view.relations.get(name)
    const target = relation && view.view.get(relation.target)
    if (!relation || !target) throw unknownName(parameter, names, at, view.relations.keys())
    deprecations.push(...deprecationsOf(relation, view, target))
    relations.push(relation)
    secret ||= target.secret
    view = target
  }
  const toMany = relations.filter(({ kind }) => kind !== 'one').length
  if (toMany > maxToManyRelations) throw tooDeep(parameter, `${maxToManyRelations} to-many relations`, toMany)
  return { view, deprecations, secret }
}

function tooDeep(parameter: string, most: string, found: number): Error {
  const message = `The parameter ${echo(parameter)} follows at most ${most}, not ${found}.`
  return parameterFault(parameter, 'too_deep', message)
}

/** A relation goes with the field that holds it, and with the collection that it leads to. */
function deprecationsOf(
  relation: Relation,
  from: CollectionView,
  target: CollectionView,
): readonly Deprecation[] {
  const link = relation.kind === 'manyToMany' ? undefined : relation.field
  const holder = relation.kind === 'one' ? from : target
  const field = link === undefined ? undefined : holder.fields.get(link)
  return [field?.deprecated, target.collection.deprecated].filter(each => each !== undefined)
}

/** Conditions by the item that they are about: the list's own at the root, related ones at the branches. */
interface Branch {
  readonly filters: Filter[]
  readonly related: Map<string, Branch>
}

const emptyBranch = (): Branch => ({ filters: [], related: new Map() })

/** The conditions of one request. Those along the same relations must hold for one and the same related item. */
export class Conditions {
  readonly #root = emptyBranch()
  #relatedCount = 0

  /** `parameter`: its name. Throws BAD_REQUEST for more related conditions than a request may have. */
  add(parameter: string, { path, field, operator }: FilterTemplate, param: Param): void {
    let branch = this.#root
    for (const name of path) branch = branch.related.get(name) ?? this.#grow(branch, name, parameter)
    branch.filters.push({ kind: 'compare', field: field.name, operator, param })
  }

  get filter(): Filter | undefined {
    const filters = filtersOf(this.#root)
    return filters.length === 0 ? undefined : allOf(filters)
  }

  #grow(branch: Branch, name: string, parameter: string): Branch {
    this.#relatedCount++
    if (this.#relatedCount > maxRelatedConditions) {
      const message = `The parameter ${echo(parameter)} is one too many: the filters of a request follow at most ${maxRelatedConditions} relations.`
      throw parameterFault(parameter, 'too_many', message)
    }
    const grown = emptyBranch()
    branch.related.set(name, grown)
    return grown
  }
}

function filtersOf({ filters, related }: Branch): readonly Filter[] {
  const beyond = [...related].map(
    ([relation, branch]): Filter => ({ kind: 'related', relation, filter: allOf(filtersOf(branch)) }),
  )
  return [...filters, ...beyond]
}

function allOf(filters: readonly Filter[]): Filter {
  const [only] = filters
  return filters.length === 1 && only ? only : { kind: 'and', filters }
}
