/**
 * The model as seen by callers for whom the same names exist. Shapes are created once per view and shared by its callers, so
 * that the guard and the store can cache by shape.
 */
import { Cache, CacheBound } from '../../../base/cache.ts'
import type { AccessClass } from '../../../base/principal.ts'
import { namesFor } from '../../../engine/plan/guard/guard.ts'
import { fieldNames, type Names } from '../../../engine/plan/names.ts'
import type { CreateShape, ItemShape, Selected, WriteShape } from '../../../engine/plan/plan.ts'
import { selected } from '../../../engine/plan/system-plans.ts'
import type { Collection, Deprecation, ManyToMany, Model, Relation, ToMany } from '../../../model/model.ts'
import { canFollow } from '../operations.ts'
import type { Presentation } from '../reply/headers.ts'
import type { AggregateTemplate, ListTemplate } from './list-template.ts'

/** Shared by the shapes of all views. */
const shapesBound = new CacheBound('rest_shapes', 4000)

/** The selection of one item, and the headers of its response. */
export interface ItemTemplate {
  readonly shape: ItemShape
  readonly presentation: Presentation
  /** The deprecations of all selected fields and collections. */
  readonly deprecations: readonly Deprecation[]
  /** Whether this is the representation of a read without parameters, with which `If-Match` is compared. */
  readonly isDefault: boolean
  /** Whether the shape's second argument is `includedLimit`. */
  readonly includes: boolean
  /** By the fields that a body sets, in the order of the body. */
  readonly creates: Cache<string, CreateForm>
}

/** Shared by creates that set the same fields. */
export interface CreateForm {
  readonly names: readonly string[]
  readonly computed: readonly string[]
  readonly shape: CreateShape
  readonly headers: readonly string[]
}

/** A list that clients can request: a collection, or the items that a parent reaches by a relation. */
export class ListScope {
  readonly target: CollectionView
  readonly within: { readonly collection: string; readonly relation: string } | undefined
  readonly templates = new Cache<string, ListTemplate>(shapesBound)
  readonly aggregates = new Cache<string, AggregateTemplate>(shapesBound)

  constructor(target: CollectionView, within: ListScope['within']) {
    this.target = target
    this.within = within
  }
}

/** A collection as seen by callers for whom the same names exist. */
export class CollectionView implements Names {
  /** All collections, as seen by the same callers. */
  readonly views: CollectionViews
  readonly collection: Collection
  readonly fields: Names['fields']
  readonly computed: Names['computed']
  /** The relations that somebody may follow. */
  readonly relations: Names['relations']
  readonly searched: Names['searched']
  readonly select: readonly Selected[]
  /** Whether responses with these items must not be stored, because creates of them reveal secrets. */
  readonly secret: boolean
  readonly list: ListScope
  readonly items = new Cache<string, ItemTemplate>(shapesBound)
  readonly writes = new Cache<string, WriteShape>(shapesBound)
  readonly #sublists = new Map<string, ListScope>()

  constructor(views: CollectionViews, names: Names, secret: boolean) {
    const { collection, fields, computed, relations, searched } = names
    this.views = views
    this.collection = collection
    this.fields = fields
    this.computed = computed
    this.relations = relations
    this.searched = searched
    this.select = selected([...fields.keys()])
    this.secret = secret
    this.list = new ListScope(this, undefined)
  }

  /** The list of the items that one item reaches by the relation; undefined if these callers may not follow it. */
  sublist(relation: ToMany | ManyToMany): ListScope | undefined {
    const cached = this.#sublists.get(relation.name)
    if (cached) return cached
    const target = this.views.get(relation.target)
    if (!target || !this.relations.has(relation.name)) return undefined
    const sublist = new ListScope(target, { collection: this.collection.name, relation: relation.name })
    this.#sublists.set(relation.name, sublist)
    return sublist
  }
}

/** The target of a relation. */
export function viewOf({ views }: CollectionView, { target }: Relation): CollectionView {
  const view = views.get(target)
  if (!view) throw new Error(`no view of ${target}`)
  return view
}

export type CollectionViews = ReadonlyMap<string, CollectionView>

const maxViews = 400

/** Equal for access classes for which the same names exist in a collection. */
function keyOf(names: Names): string {
  const { relations, searched } = names
  return [...fieldNames(names), ...relations.keys(), ...searched.map(({ name }) => `?${name}`)].join(' ')
}

/** Finds the views of an access class. `secret` names the collections whose answers must not be stored. */
export function createViews(
  model: Model,
  secret: { has(collection: string): boolean },
): (access: AccessClass) => CollectionViews {
  const byAccess = new WeakMap<AccessClass, CollectionViews>()
  const byNames = new Cache<string, CollectionViews>(new CacheBound('rest_views', maxViews))
  const collections = [...model.collections.values()]

  const followable = (collection: Collection, access: AccessClass): Names => {
    const names = namesFor(model, collection, access)
    const relations = [...names.relations].filter(([, relation]) => canFollow(model, collection, relation))
    return { ...names, relations: new Map(relations) }
  }

  const makeViews = (allNames: readonly Names[]): CollectionViews => {
    const views = new Map<string, CollectionView>()
    for (const names of allNames) {
      const { name } = names.collection
      views.set(name, new CollectionView(views, names, secret.has(name)))
    }
    return views
  }

  const findViews = (access: AccessClass): CollectionViews => {
    const allNames = collections.map(collection => followable(collection, access))
    const key = allNames.map(keyOf).join('\n')
    const cached = byNames.get(key)
    if (cached) return cached
    const views = makeViews(allNames)
    byNames.set(key, views)
    return views
  }

  return access => {
    const cached = byAccess.get(access)
    if (cached) return cached
    const views = findViews(access)
    byAccess.set(access, views)
    return views
  }
}

export const createForms = (): Cache<string, CreateForm> => new Cache(shapesBound)
