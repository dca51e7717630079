/**
 * Exports all data that belongs to a person and that they may read. Which items belong to them is found without rules; the
 * items are read with the person's own rights, page by page.
 */

import { ApiError } from '../../../base/errors.ts'
import { type AccessClass, hasScope, type Principal, system } from '../../../base/principal.ts'
import { namesFor, staticRule } from '../../../engine/plan/guard/guard.ts'
import { orderById } from '../../../engine/plan/order.ts'
import { type Filter, type ListShape, maxListedValues, type Window } from '../../../engine/plan/plan.ts'
import type { Run } from '../../../engine/plan/run.ts'
import { itemShape, readItem, selected } from '../../../engine/plan/system-plans.ts'
import type { JsonObject, JsonValue } from '../../../model/fields/type.ts'
import type { Model } from '../../../model/model.ts'
import { ownedBy } from './own-data.ts'

interface ExportShapes {
  /** The ids of the person's items: the first page, and the page after an id. */
  readonly first: ListShape
  readonly next: ListShape
  /** The items with some ids. */
  readonly items: ListShape
}

const cachedShapes = new WeakMap<Model, Map<string, ExportShapes>>()

/** Cached, because each shape is compiled once. */
function shapesOf(model: Model, collection: string, names: readonly string[], owned: Filter): ExportShapes {
  const key = JSON.stringify([collection, names, owned])
  const ofModel = cachedShapes.get(model) ?? new Map<string, ExportShapes>()
  cachedShapes.set(model, ofModel)
  const shapes = ofModel.get(key) ?? createShapes(collection, names, owned)
  ofModel.set(key, shapes)
  return shapes
}

const [limitParam, userParam, afterParam] = [0, 1, 2]
const idsParam = 2

function createShapes(collection: string, names: readonly string[], owned: Filter): ExportShapes {
  const list = (filter: Filter, window: Window, select: readonly string[]): ListShape => ({
    ...{ kind: 'list', collection, within: undefined, search: undefined, sort: orderById },
    ...{ filter, window, select: selected(select), isReadOnce: true },
  })
  const isAmong = { kind: 'compare', field: 'id', operator: 'in', param: idsParam } as const
  return {
    first: list(owned, { kind: 'cursor', after: undefined, limit: limitParam }, ['id']),
    next: list(owned, { kind: 'cursor', after: [afterParam], limit: limitParam }, ['id']),
    items: list(isAmong, { kind: 'page', offset: 0, limit: 1, total: 'none' }, names),
  }
}

/** The part of a collection that an export contains. */
interface ExportedCollection {
  readonly name: string
  readonly shapes: ExportShapes
}

/** The collections in the export of a person with this access class. */
export function exportedCollections(model: Model, access: AccessClass): readonly ExportedCollection[] {
  const { collections } = model
  return [...collections.values()].flatMap(collection => {
    const { name, singular } = collection
    if (!hasScope(access.scopes, `read:${singular}`)) return []
    if (staticRule(model, collection, collection.access.read, access) === 'never') return []
    const { fields } = namesFor(model, collection, access)
    const owned = ownedBy(collections, collection, userParam, field => fields.has(field.name))
    return owned ? [{ name, shapes: shapesOf(model, name, [...fields.keys()], owned) }] : []
  })
}

interface Reading {
  readonly model: Model
  readonly run: Run
  readonly userId: number
}

/** How many ids are read at once: to find an item of a person can cost as much as to find many. */
const idsPerRead = 1000

/** Where the next page begins. */
interface Position {
  /** Ids that were read and whose items were not. */
  readonly ids: readonly number[]
  /** The id after which further ones begin; undefined: there are none. */
  readonly after: JsonValue | undefined
}

interface Page {
  /** The items as a JSON array. */
  readonly text: string
  /** How many items of the person it was made of: they may not read all of them. */
  readonly examined: number
  /** Undefined: it is the last. */
  readonly next: Position | undefined
}

async function readIds(
  { run, userId }: Reading,
  { first, next }: ExportShapes,
  after: JsonValue | undefined,
): Promise<Position> {
  const answer = await run.list(
    after === undefined
      ? { shape: first, args: [idsPerRead, userId] }
      : { shape: next, args: [idsPerRead, userId, after] },
    system,
  )
  const found: readonly { readonly id: number }[] = JSON.parse(answer.text ?? '[]')
  return { ids: found.map(({ id }) => id), after: answer.next?.[0] }
}

/** At most `size` items of a collection, from a position or the start, as the principal may read them. */
async function readPage(
  reading: Reading,
  { shapes }: ExportedCollection,
  principal: Principal,
  position: Position | undefined,
  size: number,
): Promise<Page> {
  const known = position !== undefined && position.ids.length > 0
  const { ids, after } = known ? position : await readIds(reading, shapes, position?.after)
  const limit = Math.min(size, maxListedValues)
  const rest = ids.slice(limit)
  const next = rest.length > 0 || after !== undefined ? { ids: rest, after } : undefined
  if (ids.length === 0) return { text: '[]', examined: 0, next }
  const { text } = await reading.run.list(
    { shape: shapes.items, args: [0, limit, ids.slice(0, limit)] },
    principal,
  )
  return { text: text ?? '[]', examined: Math.min(limit, ids.length), next }
}

/** The person's own row, as they may read it. */
async function accountOf(
  { model, run, userId }: Reading,
  principal: Principal,
): Promise<JsonObject | undefined> {
  const users = model.collections.get('users')
  const names = users ? [...namesFor(model, users, principal.access).fields.keys()] : ['id']
  return readItem<JsonObject>(run, itemShape('users', names), userId, principal)
}

export interface ExportParts extends Reading {
  /** The person, with their present rights. Rejects if the export may not go on. */
  readonly reader: () => Promise<Principal>
  /** Further members of the document. */
  readonly details: Readonly<Record<string, unknown>>
}

/** The items of a collection as JSON arrays without their brackets, one for each page. */
async function* itemTexts(parts: ExportParts, collection: ExportedCollection): AsyncIterable<string> {
  let position: Position | undefined
  for (let size = maxListedValues; ; ) {
    const page = await readPage(parts, collection, await parts.reader(), position, size).catch(error => {
      if (!isTooLarge(error) || size === 1) throw error
      return undefined
    })
    if (page === undefined) {
      size = Math.ceil(size / 8)
      continue
    }
    const texts = page.text.slice(1, -1)
    if (texts !== '') yield texts
    if (page.next === undefined) return
    position = page.next
  }
}

/** The items of a page can be too large for one answer of the store. */
function isTooLarge(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'ANSWER_TOO_LARGE'
}

/** The document in chunks: at most one page of one collection is in memory. */
export async function* exportedData(parts: ExportParts): AsyncIterable<string> {
  const { model, details } = parts
  const principal = await parts.reader()
  yield `{"account":${JSON.stringify((await accountOf(parts, principal)) ?? null)},\n`
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

interface PersonalRow extends JsonObject {
  readonly collection: string
  readonly item: JsonObject
}

/** The same data as rows, the account first. An `ExportSource`. */
export class PersonalRows {
  readonly isSized = true
  readonly #parts: Reading
  readonly #readerOf: (caller: Principal) => Promise<Principal>
  readonly #names: readonly string[]
  /** Of the collection that is read next; -1: the account. Collections may appear and vanish with the person's rights. */
  #position = -1
  #from: Position | undefined
  /** The last page was empty: its size says nothing of the next one. */
  #isSkipping = false

  /** `readerOf`: the person, with their present rights, for a caller. Rejects if the export may not go on. */
  constructor(parts: Reading, readerOf: (caller: Principal) => Promise<Principal>) {
    this.#parts = parts
    this.#readerOf = readerOf
    this.#names = [...parts.model.collections.keys()]
  }

  async next(caller: Principal, size: number) {
    const reader = await this.#readerOf(caller)
    const exported = new Map(
      exportedCollections(this.#parts.model, reader.access).map(found => [found.name, found]),
    )
    const current = exported.get(this.#names[this.#position] ?? '')
    const page = current && (await this.#page(current, reader, size))
    const following = this.#names.findIndex((name, index) => index > this.#position && exported.has(name))
    const rows = this.#position < 0 ? await this.#account(reader) : page ? rowsOf(current.name, page) : []
    return {
      rows,
      examined: page?.examined ?? 0,
      isLast: page?.next === undefined && following < 0,
      advance: () => {
        if (page?.next === undefined) this.#position = following
        this.#from = page?.next
        this.#isSkipping = rows.length === 0
      },
    }
  }

  #page(collection: ExportedCollection, reader: Principal, size: number): Promise<Page> {
    const limit = this.#isSkipping ? maxListedValues : size
    return readPage(this.#parts, collection, reader, this.#from, limit).catch(error => {
      if (isTooLarge(error)) this.#isSkipping = false
      throw error
    })
  }

  async #account(reader: Principal): Promise<readonly PersonalRow[]> {
    const item = await accountOf(this.#parts, reader)
    if (item === undefined) throw new ApiError('NOT_FOUND')
    return [{ collection: 'users', item }]
  }
}

function rowsOf(collection: string, { text }: Page): readonly PersonalRow[] {
  const items: readonly JsonObject[] = JSON.parse(text)
  return items.map(item => ({ collection, item }))
}
