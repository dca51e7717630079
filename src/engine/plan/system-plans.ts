/** Portico's own plans, mostly for its built-in collections, run as `system`. */

import { type Awaitable, then } from '../../base/awaitable.ts'
import { type Principal, system } from '../../base/principal.ts'
import type { FilterOperator, JsonObject, JsonValue } from '../../model/fields/type.ts'
import type { ReadAnswer } from './answer.ts'
import { orderById } from './order.ts'
import type {
  CreateShape,
  DeleteShape,
  Filter,
  ItemShape,
  ListShape,
  Plan,
  Selected,
  UpdateShape,
} from './plan.ts'
import type { Run } from './run.ts'
import { type ProgramSteps, planAs } from './transaction.ts'

/** A field's name, or something else to select. */
type Selection = readonly (string | Selected)[]

/** Fields under their own names. */
export function selected(selection: Selection): readonly Selected[] {
  return selection.map(entry =>
    typeof entry === 'string' ? { kind: 'field', key: entry, field: entry } : entry,
  )
}

/** Arguments: the id. */
export function itemShape(collection: string, selection: Selection): ItemShape {
  return { kind: 'item', collection, id: 0, select: selected(selection) }
}

/** The arguments of a list begin with its offset and its limit. */
const firstOwnParam = 2

/** For `listShape`: compares a field with the argument after the limit. */
export function where(field: string, operator: FilterOperator = 'eq'): Filter {
  return { kind: 'compare', field, operator, param: firstOwnParam }
}

/** A list in the order of ids, without a total. Arguments: the offset, the limit, then those of the filter and selection. */
export function listShape(collection: string, selection: Selection, filter?: Filter): ListShape {
  return {
    kind: 'list',
    collection,
    within: undefined,
    filter,
    search: undefined,
    sort: orderById,
    window: { kind: 'page', offset: 0, limit: 1, total: 'none' },
    select: selected(selection),
  }
}

/** Creates an item; the answer has its id. `computed` may include internal and read-only fields. */
export function createPlan(collection: string, set: JsonObject, computed: JsonObject): Plan<CreateShape> {
  const names = [...Object.keys(set), ...Object.keys(computed)]
  const assignments = names.map((field, param) => ({ field, param }))
  const setCount = Object.keys(set).length
  const shape: CreateShape = {
    kind: 'create',
    collection,
    set: assignments.slice(0, setCount),
    computed: assignments.slice(setCount),
    select: selected(['id']),
  }
  return { shape, args: [...Object.values(set), ...Object.values(computed)] }
}

/** Sets only these fields; the answer has the id. Arguments: the id, then the fields' values. */
export function updateShape(collection: string, fields: readonly string[]): UpdateShape {
  return {
    kind: 'update',
    mode: 'merge',
    collection,
    id: 0,
    set: fields.map((field, index) => ({ field, param: index + 1 })),
    ifMatch: undefined,
    select: selected(['id']),
  }
}

/** Arguments: the id. */
export function deleteShape(collection: string): DeleteShape {
  return { kind: 'delete', collection, id: 0, ifMatch: undefined }
}

const pageSize = 10_000

const keysetShapes = new WeakMap<ListShape, ListShape>()

/** The `listShape` with keyset paging. Arguments: the id after which the page begins, the limit, then those of the filter. */
function keysetShape(shape: ListShape): ListShape {
  const cached = keysetShapes.get(shape)
  if (cached !== undefined) return cached
  const keyset: ListShape = { ...shape, window: { kind: 'cursor', after: [0], limit: 1 } }
  keysetShapes.set(shape, keyset)
  return keyset
}

/**
 * All items of a `listShape`, whose own arguments are `values`. Pages begin after an id rather than at an offset, which would
 * miss items when earlier ones are deleted meanwhile.
 */
export async function readAll<R>(run: Run, shape: ListShape, ...values: JsonValue[]): Promise<readonly R[]> {
  const items: R[] = []
  for (let lastId: JsonValue | undefined = 0; lastId !== undefined; ) {
    const plan = { shape: keysetShape(shape), args: [lastId, pageSize, ...values] }
    const { text, next } = await run.list(plan, system)
    items.push(...JSON.parse(text ?? '[]'))
    lastId = next?.[0]
  }
  return items
}

/** Reads without the caches, which may lack commits of other nodes since the start of the request. */
export function readStored<T>(run: Run, steps: () => ProgramSteps<T>): Promise<T> {
  return run.transaction({ principal: system, serial: undefined, snapshot: true, steps })
}

/** As `readAll`, without the caches: for reads that must miss nothing. */
export function readAllStored<R>(run: Run, shape: ListShape, ...values: JsonValue[]): Promise<readonly R[]> {
  return readStored(run, function* () {
    const items: R[] = []
    for (;;) {
      const { text } = (yield { shape, args: [items.length, pageSize, ...values] }) as ReadAnswer
      const page: readonly R[] = JSON.parse(text ?? '[]')
      items.push(...page)
      if (page.length < pageSize) return items
    }
  })
}

/** The first item of a `listShape`; synchronous where the store is. */
export function readFirst<R>(run: Run, shape: ListShape, ...values: JsonValue[]): Awaitable<R | undefined> {
  return then(run.list({ shape, args: [0, 1, ...values] }, system), ({ text }) => JSON.parse(text ?? '[]')[0])
}

/** The item of an `itemShape`; undefined if there is none, or `reader` may not read it. */
export function readItem<R>(
  run: Run,
  shape: ItemShape,
  id: number,
  reader: Principal = system,
): Awaitable<R | undefined> {
  return then(run.item({ shape, args: [id] }, reader), ({ text }) =>
    text === null ? undefined : JSON.parse(text),
  )
}

/** `readItem` as a step of a transaction. */
export function* readItemStep<R>(shape: ItemShape, id: number): ProgramSteps<R | undefined> {
  const { text } = (yield planAs(system, { shape, args: [id] })) as ReadAnswer
  return text === null ? undefined : JSON.parse(text)
}
