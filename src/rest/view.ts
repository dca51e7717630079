/**
 * What callers who may read the same fields see of the model. Shapes are made once per view and shared by
 * its callers, so that the guard and the store meet the same shape again.
 */
import type { Collection, Deprecation, Field, ManyToMany, Model, Relation, ToMany } from '../model/model.ts'
import { readableFields, readableRelations } from '../plan/guard.ts'
import type { CreateShape, ItemShape, Selected, WriteShape } from '../plan/plan.ts'
import type { AccessClass } from '../principal.ts'
import type { BoundList, ListTemplate } from './list-template.ts'
import { Memo } from './memo.ts'
import { canFollow } from './operations.ts'
import type { Presentation } from './presentation.ts'

/** What is selected of one item, and the headers that go with it. */
export interface ItemTemplate {
  readonly shape: ItemShape
  readonly presentation: Presentation
  /** What of it is going away. */
  readonly deprecations: readonly Deprecation[]
  /** Whether this is the item as a plain read shows it: what `If-Match` is compared with. */
  readonly plain: boolean
  /** Whether the shape takes `includedLimit` as its second argument. */
  readonly includes: boolean
  /** By the fields that a body sets, in its order. */
  readonly creates: Memo<string, CreateForm>
}

/** What creates that set the same fields share. */
export interface CreateForm {
  readonly names: readonly string[]
  readonly computed: readonly string[]
  readonly shape: CreateShape
  readonly headers: readonly string[]
}

/** A list that can be asked for: a collection, or what a parent reaches by a relation. */
export class ListScope {
  readonly target: CollectionView
  readonly within: { readonly collection: string; readonly relation: string } | undefined
  readonly templates = new Memo<string, ListTemplate>(MOST_TEMPLATES)
  readonly bound = new Memo<string, BoundList>(MOST_BOUND)

  constructor(target: CollectionView, within: ListScope['within']) {
    this.target = target
    this.within = within
  }
}

/** A collection as one view shows it. */
export class CollectionView {
  readonly view: View
  readonly collection: Collection
  readonly fields: ReadonlyMap<string, Field>
  readonly relations: ReadonlyMap<string, Relation>
  readonly select: readonly Selected[]
  /** Whether answers hold what is not to be kept anywhere. */
  readonly secret: boolean
  readonly list: ListScope
  readonly items = new Memo<string, ItemTemplate>(MOST_TEMPLATES)
  readonly writes = new Memo<string, WriteShape>(MOST_TEMPLATES)
  readonly #sublists = new Map<string, ListScope>()

  constructor(view: View, collection: Collection, visible: Visible, secret: boolean) {
    this.view = view
    this.collection = collection
    this.fields = new Map(visible.fields.map(field => [field.name, field]))
    this.relations = new Map(visible.relations.map(relation => [relation.name, relation]))
    this.select = visible.fields.map(({ name }) => ({ kind: 'field', key: name, field: name }))
    this.secret = secret
    this.list = new ListScope(this, undefined)
  }

  /** The list of what an item here reaches; undefined when this view may not follow the relation. */
  sublist(relation: ToMany | ManyToMany): ListScope | undefined {
    const known = this.#sublists.get(relation.name)
    if (known) return known
    const target = this.view.get(relation.target)
    if (!target || !this.relations.has(relation.name)) return undefined
    const made = new ListScope(target, { collection: this.collection.name, relation: relation.name })
    this.#sublists.set(relation.name, made)
    return made
  }
}

export type View = ReadonlyMap<string, CollectionView>

const MOST_VIEWS = 200
const MOST_TEMPLATES = 300
const MOST_FORMS = 100
const MOST_BOUND = 300

/** What exists of one collection for an access class: the guard's own answer. */
interface Visible {
  readonly fields: readonly Field[]
  readonly relations: readonly Relation[]
}

function keyOf({ fields, relations }: Visible): string {
  return [...fields, ...relations].map(({ name }) => name).join(' ')
}

/** Finds the view of an access class. `secret` names the collections whose answers nobody may keep. */
export function createViews(
  model: Model,
  secret: { has(collection: string): boolean },
): (access: AccessClass) => View {
  const byAccess = new WeakMap<AccessClass, View>()
  const byVisible = new Memo<string, View>(MOST_VIEWS)
  const collections = [...model.collections.values()]

  const makeView = (visible: readonly Visible[]): View => {
    const view = new Map<string, CollectionView>()
    collections.forEach((collection, index) => {
      const seen = visible[index] ?? { fields: [], relations: [] }
      view.set(collection.name, new CollectionView(view, collection, seen, secret.has(collection.name)))
    })
    return view
  }

  const findView = (access: AccessClass): View => {
    const visible = collections.map(collection => ({
      fields: readableFields(model, collection, access),
      relations: readableRelations(model, collection, access).filter(relation =>
        canFollow(model, collection, relation),
      ),
    }))
    const key = visible.map(keyOf).join('\n')
    const known = byVisible.get(key)
    if (known) return known
    const made = makeView(visible)
    byVisible.set(key, made)
    return made
  }

  return access => {
    const known = byAccess.get(access)
    if (known) return known
    const made = findView(access)
    byAccess.set(access, made)
    return made
  }
}

export const createForms = (): Memo<string, CreateForm> => new Memo(MOST_FORMS)
