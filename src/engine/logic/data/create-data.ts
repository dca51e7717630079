/** `data`: the reads and writes of one principal. */

import type { Awaitable } from '../../../base/awaitable.ts'
import { ApiError } from '../../../base/errors.ts'
import { isObject } from '../../../base/json.ts'
import type { Principal } from '../../../base/principal.ts'
import { managedCollections } from '../../../model/builtin/managed.ts'
import type { JsonObject, JsonValue } from '../../../model/fields/type.ts'
import type { LogicItem } from '../../../model/logic/logic.ts'
import type { Collection, Field, Model } from '../../../model/model.ts'
import { bodyValidator } from '../../../model/validate.ts'
import type { ItemAnswer, ListAnswer, WriteAnswer } from '../../plan/answer.ts'
import { namesFor } from '../../plan/guard/guard.ts'
import { requirePlain } from '../../plan/plain-writes.ts'
import type { Plan, WriteShape } from '../../plan/plan.ts'
import type { CreateHooks, Run } from '../../plan/run.ts'
import { type ProgramPlan, type ProgramSteps, planAs } from '../../plan/transaction.ts'
import { asyncStepsOf, type OperationLimits } from '../operations/call.ts'
import { badCall } from './call-error.ts'
import type {
  BoundOptions,
  ChangeOptions,
  CollectionData,
  DataOf,
  ListOptions,
  ReadOptions,
  Upserted,
  UpsertOptions,
  Where,
} from './data.ts'
import { separateIncrements } from './increments.ts'
import { type Changes, DataPlans, maxLimit } from './plans.ts'
import type { ReadMemory } from './read-memory.ts'
import { isOvertaken, type UpsertKey, upsertKeyOf } from './upsert.ts'

/** Steps of one transaction: all take effect, or none. */
type SeveralSteps = () => ProgramSteps<unknown>

/** Runs a plan, whose kind determines the kind of the answer, or several steps, as a principal. */
export type Execute = (work: ProgramPlan | SeveralSteps, principal: Principal) => Awaitable<unknown>

export interface DataParts {
  readonly model: Model
  /** The hooks of collections whose items have secrets; logic cannot create such items. */
  readonly hooks: CreateHooks
  readonly execute: Execute
  /** What the code has read, if it is not in a transaction. */
  readonly reads?: ReadMemory
  /** Called with the promise of each call. The model's code gets the promise that `track` returns. */
  readonly track?: <T>(call: Promise<T>) => Promise<T>
}

/** `data`, or actions, with further members. They come before collections and actions of the same name. */
export function withMembers<T extends object, Members extends object>(
  target: T,
  members: Members,
): T & Members {
  return new Proxy(target, {
    get: (_, name) => Reflect.get(Object.hasOwn(members, name) ? members : target, name),
  }) as T & Members
}

/** Executes each call by itself, outside of any transaction. `limits`: of several steps. */
export function executeBy(run: Run, limits: OperationLimits): Execute {
  return (work, principal) => {
    if (typeof work === 'function') {
      return run.transaction({ principal, serial: {}, asyncSteps: asyncStepsOf(limits, []), steps: work })
    }
    const { shape } = work
    switch (shape.kind) {
      case 'item':
        return run.item(work as Plan<typeof shape>, principal)
      case 'list':
        return run.list(work as Plan<typeof shape>, principal)
      case 'composite':
        return run.composite(work as Plan<typeof shape>, principal)
      default:
        return run.write(work as Plan<WriteShape>, principal)
    }
  }
}

/** The collections by name; an unknown name is undefined. */
export function createData(parts: DataParts, principal: Principal): DataOf {
  const byName = new Map<string, CollectionData>()
  const dataOf = (name: string): CollectionData | undefined => {
    const collection = parts.model.collections.get(name)
    if (collection === undefined) return undefined
    const data = byName.get(name) ?? new PrincipalData(parts, collection, principal)
    byName.set(name, data)
    return data
  }
  // Created on demand: an action uses a few of many collections.
  const target: Record<string, CollectionData> = Object.create(null)
  return new Proxy(Object.freeze(target), {
    get: (_, name) => (typeof name === 'string' ? dataOf(name) : undefined),
    has: (_, name) => typeof name === 'string' && parts.model.collections.has(name),
  })
}

class PrincipalData implements CollectionData {
  readonly #parts: DataParts
  readonly #collection: Collection
  readonly #principal: Principal
  readonly #plans: DataPlans

  constructor(parts: DataParts, collection: Collection, principal: Principal) {
    const { model } = parts
    const namesOf = (name: string) => {
      return namesFor(model, model.collections.get(name) ?? collection, principal.access)
    }
    this.#parts = parts
    this.#collection = collection
    this.#principal = principal
    this.#plans = new DataPlans(namesOf(collection.name), namesOf)
  }

  get(id: number, options: ReadOptions = {}): Promise<LogicItem | null> {
    return this.#call(async () => {
      const { text } = await this.#run<ItemAnswer>(this.#plans.item(id, options, this.#place('get')))
      return text === null ? null : this.#remembered(itemOf(text))
    })
  }

  first(options: Omit<ListOptions, 'limit' | 'page'> = {}): Promise<LogicItem | null> {
    const limited = { ...options, limit: 1, page: 1 }
    return this.#call(async () => (await this.#list(limited, 'first'))[0] ?? null)
  }

  list(options: ListOptions = {}): Promise<readonly LogicItem[]> {
    return this.#call(() => this.#list(options, 'list'))
  }

  async *all(options: Omit<ListOptions, 'limit' | 'page'> = {}): AsyncIterable<LogicItem> {
    let after: readonly JsonValue[] | undefined
    for (;;) {
      const plan = this.#plans.walk(options, after, this.#place('all'))
      const { text, next } = await this.#run<ListAnswer>(plan)
      for (const item of itemsOf(text)) yield this.#remembered(item)
      if (next === null || next === undefined) return
      after = next
    }
  }

  count(where?: Where): Promise<number> {
    return this.#call(async () => {
      const options = { limit: 1, fields: ['id'], ...(where && { where }) }
      const plan = this.#plans.list(options, 'exact', this.#place('count'))
      return (await this.#run<ListAnswer>(plan)).total ?? 0
    })
  }

  create(values: JsonObject): Promise<LogicItem> {
    return this.#call(() => this.#create(values, 'create'))
  }

  update(id: number, values: JsonObject, options: ChangeOptions = {}): Promise<LogicItem> {
    return this.#call(() => this.#update(id, values, options, 'update'))
  }

  upsert({ by }: UpsertOptions, values: JsonObject): Promise<Upserted> {
    const call = 'upsert'
    return this.#call(async () => {
      const key = upsertKeyOf(by, values, this.#collection, this.#place(call))
      const { fields, where, others } = key
      for (let tries = 1; tries <= maxUpsertTries; tries++) {
        const [found] = await this.#list({ where, fields: ['id', ...fields], limit: 1 }, call)
        try {
          if (found === undefined) return { item: await this.#create(values, call), created: true }
          const item = await this.#update(Number(found['id']), others, { ifMatch: found }, call)
          return { item, created: false }
        } catch (error) {
          if (!isOvertaken(error, found !== undefined)) throw error
        }
      }
      return this.#upsertSerially(key, values, call)
    })
  }

  /** In one transaction, in which nothing comes between the search and the write. */
  async #upsertSerially({ where, others }: UpsertKey, values: JsonObject, call: string): Promise<Upserted> {
    const [place, principal] = [this.#place(call), this.#principal]
    const search = this.#plans.list({ where, fields: ['id'], limit: 1 }, 'none', place)
    const writeOf = (id: number | undefined) =>
      id === undefined
        ? this.#creation(values, call)
        : this.#plans.update(id, this.#changes(others, place), {}, place)
    const { answer, created } = await this.#run<{ answer: WriteAnswer; created: boolean }>(function* () {
      const [found] = itemsOf(((yield planAs(principal, search)) as ListAnswer).text)
      const write = writeOf(found && Number(found['id']))
      return { answer: (yield planAs(principal, write)) as WriteAnswer, created: found === undefined }
    })
    return { item: this.#written(answer), created }
  }

  updateWhere(where: Where, values: JsonObject, options: BoundOptions = {}): Promise<number> {
    return this.#call(async () => {
      const place = this.#place('updateWhere')
      const changes = this.#changes(values, place)
      const idOnly = { fields: ['id'] }
      return this.#changeWhere(where, options, 'updateWhere', id =>
        this.#plans.update(id, changes, idOnly, place),
      )
    })
  }

  delete(id: number, options: ChangeOptions = {}): Promise<void> {
    return this.#call(async () => {
      await this.#overtaking(id, options, undefined, matching =>
        this.#run<WriteAnswer>(this.#plans.delete(id, matching, this.#place('delete'))),
      )
    })
  }

  deleteWhere(where: Where, options: BoundOptions = {}): Promise<number> {
    return this.#call(async () => {
      const place = this.#place('deleteWhere')
      return this.#changeWhere(where, options, 'deleteWhere', id => this.#plans.delete(id, {}, place))
    })
  }

  async #create(values: JsonObject, call: string): Promise<LogicItem> {
    return this.#write(this.#creation(values, call))
  }

  #creation(values: JsonObject, call: string): Plan<WriteShape> {
    this.#requirePlain('create', values)
    const { values: set } = bodyValidator(this.#writableCollection).create(plainOf(values))
    return this.#plans.create(set, this.#place(call))
  }

  async #update(id: number, values: JsonObject, options: ChangeOptions, call: string): Promise<LogicItem> {
    const place = this.#place(call)
    const changes = this.#changes(values, place)
    return this.#overtaking(id, options, Object.keys(changes.values), matching =>
      this.#write(this.#plans.update(id, changes, matching, place)),
    )
  }

  /**
   * Changes an item, and reports it if that replaces what others have changed since the code has read the item. It is tried
   * as if the code had named the item. `fields`: those that it sets.
   */
  async #overtaking<T>(
    id: number,
    options: ChangeOptions,
    fields: readonly string[] | undefined,
    change: (options: ChangeOptions) => Promise<T>,
  ): Promise<T> {
    const { reads } = this.#parts
    const isNamed = 'ifMatch' in options
    const read = isNamed ? undefined : reads?.valuesOf(this.#collection, this.#principal, id, fields)
    if (reads === undefined || read === undefined) return change(options)
    try {
      return await change({ ifMatch: read })
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'PRECONDITION_FAILED')) throw error
      reads.report({ collection: this.#collection.name, id, fields: fields && Object.keys(read) })
      return change(options)
    }
  }

  #remembered(item: LogicItem): LogicItem {
    this.#parts.reads?.add(this.#collection, this.#principal, item)
    return item
  }

  /** The values of an update, checked. */
  #changes(values: JsonObject, place: string): Changes {
    this.#requirePlain('update', values)
    const { increments, others } = separateIncrements(values, this.#collection, place)
    return { values: bodyValidator(this.#writableCollection).merge(plainOf(others)).values, increments }
  }

  #call<T>(work: () => Promise<T>): Promise<T> {
    const call = work()
    return this.#parts.track?.(call) ?? call
  }

  async #list(options: ListOptions, call: string): Promise<readonly LogicItem[]> {
    const place = this.#place(call)
    const items = itemsOf((await this.#run<ListAnswer>(this.#plans.list(options, 'none', place))).text)
    if (items.length > maxLimit) throw tooManyItems(place, 'say `limit`, or walk with `all`')
    for (const item of items) this.#remembered(item)
    return items
  }

  /** Writes every match, each as a single write would. Throws before the first one if there are too many. */
  #changeWhere(where: Where, options: BoundOptions, call: string, write: (id: number) => ProgramPlan) {
    const place = this.#place(call)
    if (!isObject(where)) throw badCall(place, 'needs a filter, which may be {} for all items.')
    if (typeof options !== 'object' || options === null)
      throw badCall(place, 'takes its options as an object: { limit: 500 }.')
    const { limit } = options
    const found = this.#plans.list(
      { where, fields: ['id'], ...(limit !== undefined && { limit }) },
      'none',
      place,
    )
    const principal = this.#principal
    return this.#run<number>(function* () {
      const { text } = (yield planAs(principal, found)) as ListAnswer
      const ids = itemsOf(text).map(({ id }) => Number(id))
      if (ids.length > maxLimit)
        throw tooManyItems(place, 'say `limit`, and repeat the call until it finds none')
      const writes = ids.map(id => planAs(principal, write(id)))
      const step = {
        kind: 'independentWrites',
        writes,
        skipsMissing: call === 'deleteWhere',
        onFailure,
      } as const
      return writes.length === 0 ? 0 : ((yield step) as readonly WriteAnswer[]).length
    })
  }

  async #write(plan: Plan<WriteShape>): Promise<LogicItem> {
    return this.#written(await this.#run<WriteAnswer>(plan))
  }

  #written({ id, text }: WriteAnswer): LogicItem {
    return this.#remembered(text === null ? Object.freeze({ id }) : itemOf(text))
  }

  async #run<A>(work: ProgramPlan | SeveralSteps): Promise<A> {
    return (await this.#parts.execute(work, this.#principal)) as A
  }

  get #writableCollection(): Collection {
    return this.#principal.access.logic ? writableByService(this.#collection) : this.#collection
  }

  #requirePlain(operation: 'create' | 'update', values: JsonObject): void {
    const { hooks } = this.#parts
    const sets = Object.keys(Object(values))
    requirePlain({ collection: this.#collection, operation, sets, principal: this.#principal, hooks })
  }

  #place(call: string): string {
    return `data.${this.#collection.name}.${call}`
  }
}

function tooManyItems(place: string, remedy: string): ApiError {
  return badCall(place, `finds more than ${maxLimit.toLocaleString('en')} items: ${remedy}.`)
}

/** How often an upsert tries without a transaction: others may create the item, delete it or change its key meanwhile. */
const maxUpsertTries = 5

const onFailure = () => undefined

/** The values without undefined ones. */
function plainOf(values: JsonObject): unknown {
  if (typeof values !== 'object' || values === null) return values
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}

function itemOf(text: string): LogicItem {
  return Object.freeze(JSON.parse(text))
}

function itemsOf(text: string | null): readonly LogicItem[] {
  const items: LogicItem[] = JSON.parse(text ?? '[]')
  return items.map(item => Object.freeze(item))
}

const writableCollections = new WeakMap<Collection, Collection>()
/** Fields that Portico sets in every collection. */
const automaticFields: ReadonlySet<string> = new Set(['id', 'created_at', 'updated_at'])

/** The collection as the service writes it: fields that are read-only or immutable for clients are writable. */
function writableByService(collection: Collection): Collection {
  if (managedCollections.has(collection.name)) return collection
  const cached = writableCollections.get(collection)
  if (cached !== undefined) return cached
  const makeWritable = (field: Field): Field =>
    automaticFields.has(field.name) || field.internal
      ? field
      : { ...field, readOnly: false, immutable: false }
  const fields = new Map([...collection.fields].map(([name, field]) => [name, makeWritable(field)]))
  const opened = { ...collection, fields }
  writableCollections.set(collection, opened)
  return opened
}
