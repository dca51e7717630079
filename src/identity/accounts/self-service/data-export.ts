/** Exports all data that belongs to a user and that they may read, as one JSON document that is read page by page. */

import type { AccessClass, Principal } from '../../../base/principal.ts'
import { namesFor, staticRule } from '../../../engine/plan/guard/guard.ts'
import { orderById } from '../../../engine/plan/order.ts'
import type { Filter, ListShape } from '../../../engine/plan/plan.ts'
import type { Run } from '../../../engine/plan/run.ts'
import { itemShape, selected } from '../../../engine/plan/system-plans.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Field, Model } from '../../../model/model.ts'
import { type OwnedCollection, ownedCollections } from './own-data.ts'

/** The number of items that are read at once. */
const pageSize = 100

const [limitParam, userParam, afterParam] = [0, 1, 2]

interface ExportShapes {
  readonly first: ListShape
  readonly next: ListShape
}

const cachedShapes = new WeakMap<Model, Map<string, ExportShapes>>()

/** Matches the items that name the user in one of the fields. */
function filterOf(fields: readonly Field[]): Filter {
  const filters = fields.map(
    ({ name }): Filter => ({ kind: 'compare', field: name, operator: 'eq', param: userParam }),
  )
  const [only] = filters
  return filters.length === 1 && only ? only : { kind: 'or', parts: filters }
}

/** Cached, because each shape is compiled once. */
function shapesOf(model: Model, collection: string, names: readonly string[], owners: readonly Field[]) {
  const key = JSON.stringify([collection, names, owners.map(({ name }) => name)])
  const ofModel = cachedShapes.get(model) ?? new Map<string, ExportShapes>()
  cachedShapes.set(model, ofModel)
  const shapes = ofModel.get(key) ?? createShapes(collection, names, owners)
  ofModel.set(key, shapes)
  return shapes
}

function createShapes(collection: string, names: readonly string[], owners: readonly Field[]): ExportShapes {
  const list = (after: readonly number[] | undefined): ListShape => ({
    kind: 'list',
    collection,
    within: undefined,
    filter: filterOf(owners),
    search: undefined,
    sort: orderById,
    window: { kind: 'cursor', after, limit: limitParam },
    select: selected(names),
  })
  return { first: list(undefined), next: list([afterParam]) }
}

/** The part of a collection that an export contains. */
export interface ExportedCollection {
  readonly name: string
  readonly fields: readonly string[]
  readonly owners: readonly Field[]
}

/** The collections in the export of a user with this access class. */
export function exportedCollections(model: Model, access: AccessClass): readonly ExportedCollection[] {
  return ownedCollections(model).flatMap((owned: OwnedCollection) => {
    const { collection } = owned
    if (staticRule(model, collection, collection.access.read, access) === 'never') return []
    const { fields } = namesFor(model, collection, access)
    const owners = owned.fields.filter(({ name }) => fields.has(name))
    return owners.length === 0 ? [] : [{ name: collection.name, fields: [...fields.keys()], owners }]
  })
}

export interface ExportParts {
  readonly model: Model
  readonly run: Run
  readonly principal: Principal
  readonly userId: number
  /** Throws if the session has ended. */
  readonly requireSession: () => Promise<void>
  /** Further members of the document. */
  readonly details: Readonly<Record<string, unknown>>
}

/** The user's own row, as they may read it. */
async function accountText({ model, run, principal, userId }: ExportParts): Promise<string> {
  const users = model.collections.get('users')
  const names = users ? [...namesFor(model, users, principal.access).fields.keys()] : ['id']
  const { text } = await run.item({ shape: itemShape('users', names), args: [userId] }, principal)
  return text ?? 'null'
}

/** The items of a collection as JSON arrays without their brackets, one for each page. */
async function* itemTexts(
  parts: ExportParts,
  { name, fields, owners }: ExportedCollection,
): AsyncIterable<string> {
  const { model, run, principal, userId } = parts
  const { first, next } = shapesOf(model, name, fields, owners)
  let after: JsonValue | undefined
  for (;;) {
    await parts.requireSession()
    const args = after === undefined ? [pageSize, userId] : [pageSize, userId, after]
    const page = await run.list({ shape: after === undefined ? first : next, args }, principal)
    const texts = (page.text ?? '[]').slice(1, -1)
    if (texts !== '') yield texts
    if (!page.next) return
    after = page.next[0]
  }
}

/** The document in chunks: at most one page of one collection is in memory. */
export async function* exportedData(parts: ExportParts): AsyncIterable<string> {
  const { model, principal, details } = parts
  yield `{"account":${await accountText(parts)},\n`
  for (const [name, value] of Object.entries(details))
    yield `${JSON.stringify(name)}:${JSON.stringify(value)},\n`
  yield '"items":{'
  let isFirst = true
  for (const collection of exportedCollections(model, principal.access)) {
    yield `${isFirst ? '' : ','}\n${JSON.stringify(collection.name)}:[`
    isFirst = false
    let separator = ''
    for await (const texts of itemTexts(parts, collection)) {
      yield separator + texts
      separator = ',\n'
    }
    yield ']'
  }
  yield '}}\n'
}
