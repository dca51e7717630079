/** The model of a blog with search, and a client that builds, guards and runs plans. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Principal, system } from '../../../src/base/principal.ts'
import type { ReadAnswer, WriteAnswer } from '../../../src/engine/plan/answer.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import { orderById } from '../../../src/engine/plan/order.ts'
import type {
  CreateShape,
  DeleteShape,
  ItemShape,
  ListShape,
  Plan,
  ReadShape,
  Selected,
  UpdateShape,
  WriteShape,
} from '../../../src/engine/plan/plan.ts'
import type { CollectionUses, ProgramPlan, StepAnswer, StepOf } from '../../../src/engine/plan/transaction.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import { anyone, collection, currentUser, model, owner, relation, role, text } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import type { Model } from '../../../src/model/model.ts'
import { createRun } from '../../../src/server/serve/store.ts'

const authorOrAdmin = owner('author_id').or(role('admin'))

export const blog: Model = checkModel(
  model({
    posts: collection({
      fields: {
        title: text({ max: 200, searchable: true }),
        body: text({ optional: true, searchable: true }),
        author_id: relation('users', { inverse: 'posts', default: currentUser }),
      },
      access: { read: anyone, create: authorOrAdmin, update: authorOrAdmin, delete: authorOrAdmin },
    }),
  }),
)

export type Values = Readonly<Record<string, JsonValue>>

/** Runs `use` with the path of a database in a new folder, which is removed afterwards. */
export async function withFile<T>(use: (file: string) => T | Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-store-'))
  try {
    return await use(join(folder, 'data.db'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export function fields(...names: string[]): Selected[] {
  return names.map(field => ({ kind: 'field', key: field, field }))
}

export const listOfPosts: ListShape = {
  kind: 'list',
  collection: 'posts',
  within: undefined,
  filter: undefined,
  search: undefined,
  sort: orderById,
  window: { kind: 'page', offset: 0, limit: 1, total: 'exact' },
  select: fields('id', 'title'),
}

/** Builds the plans of common operations, guards them, and runs them on a store. */
export class Client {
  readonly store: Store
  readonly #guard: ReturnType<typeof createGuard>
  readonly #model: Model
  /** The default principal. */
  readonly #as: Principal
  readonly #shapes = new Map<string, WriteShape | ReadShape>()

  constructor(store: Store, model: Model = blog, as: Principal = system) {
    this.#as = as
    this.store = store
    this.#model = model
    this.#guard = createGuard(model)
  }

  create(collection: string, values: Values, as: Principal = this.#as): Promise<WriteAnswer> {
    return this.write(this.creation(collection, values), as)
  }

  creation(collection: string, values: Values): Plan<CreateShape> {
    const shape: CreateShape = {
      kind: 'create',
      collection,
      set: assignments(values, 0),
      computed: [],
      select: this.#selection(collection),
    }
    return { shape: this.#canonical(shape), args: Object.values(values) }
  }

  update(collection: string, id: number, values: Values, as: Principal = this.#as): Promise<WriteAnswer> {
    return this.write(this.change('merge', collection, id, values), as)
  }

  updateIf(
    collection: string,
    id: number,
    values: Values,
    match: JsonValue,
    as = this.#as,
  ): Promise<WriteAnswer> {
    return this.write(this.change('merge', collection, id, values, match), as)
  }

  replace(collection: string, id: number, values: Values, as: Principal = this.#as): Promise<WriteAnswer> {
    return this.write(this.change('replace', collection, id, values), as)
  }

  remove(collection: string, id: number, as: Principal = this.#as, match?: JsonValue): Promise<WriteAnswer> {
    return this.write(this.deletion(collection, id, match), as)
  }

  deletion(collection: string, id: number, match?: JsonValue): Plan<DeleteShape> {
    const ifMatch = match === undefined ? undefined : 1
    const shape: DeleteShape = { kind: 'delete', collection, id: 0, ifMatch }
    return { shape: this.#canonical(shape), args: match === undefined ? [id] : [id, match] }
  }

  item(collection: string, id: number, as: Principal = this.#as): Promise<unknown> {
    return this.read(this.itemRead(collection, id), as).then(({ text }) => parsed(text))
  }

  itemRead(collection: string, id: number): Plan<ItemShape> {
    const shape: ItemShape = { kind: 'item', collection, id: 0, select: this.#selection(collection) }
    return { shape: this.#canonical(shape), args: [id] }
  }

  async list(shape: ListShape, args: readonly JsonValue[], as: Principal = this.#as) {
    const answer = await this.read({ shape, args }, as)
    if (answer.kind !== 'list') throw new TypeError('not a list')
    return {
      items: parsed(answer.text) as Record<string, JsonValue>[] | null,
      total: answer.total,
      next: answer.next,
    }
  }

  async read(plan: Plan<ReadShape>, as: Principal): Promise<ReadAnswer> {
    const { shape, args } = plan
    await this.store.refresh()
    if (shape.kind === 'item') return this.store.read(this.#guard({ shape, args }, as))
    if (shape.kind === 'aggregate') return this.store.read(this.#guard({ shape, args }, as))
    return this.store.read(this.#guard({ shape, args }, as))
  }

  async write(plan: Plan<WriteShape>, as: Principal): Promise<WriteAnswer> {
    return this.store.write(this.#guard(plan, as))
  }

  /** Guards the plans of a program, and runs it. */
  async transaction<T>(
    steps: () => Generator<StepOf<ProgramPlan>, T, StepAnswer>,
    as: Principal = this.#as,
    serial?: CollectionUses,
  ): Promise<T> {
    return createRun(this.#guard, this.store).transaction({ principal: as, serial, steps })
  }

  change(
    mode: 'merge' | 'replace',
    collection: string,
    id: number,
    values: Values,
    match?: JsonValue,
  ): Plan<UpdateShape> {
    const shape: UpdateShape = {
      kind: 'update',
      mode,
      collection,
      id: 0,
      set: assignments(values, 2),
      ifMatch: match === undefined ? undefined : 1,
      select: this.#selection(collection),
    }
    return { shape: this.#canonical(shape), args: [id, match ?? null, ...Object.values(values)] }
  }

  /** Returns one object for equal shapes, as the transports do. */
  #canonical<S extends WriteShape | ReadShape>(shape: S): S {
    const key = JSON.stringify(shape)
    const cached = this.#shapes.get(key) ?? shape
    this.#shapes.set(key, cached)
    return cached as S
  }

  #selection(collection: string): Selected[] {
    const all = this.#model.collections.get(collection)?.fields.values() ?? []
    return fields(...[...all].filter(field => !field.internal && !field.writeOnly).map(field => field.name))
  }
}

/** Creates users 1, 2 and so on. A record whose owner does not exist is removed by the cleanup. */
export async function createUsers(store: Store, count: number): Promise<void> {
  const client = new Client(store)
  for (let id = 1; id <= count; id++) {
    await client.create('users', { name: 'Ann', email: `ann${id}@example.com` })
  }
}

function assignments(values: Values, from: number) {
  return Object.keys(values).map((field, index) => ({ field, param: from + index }))
}

export function parsed(text: string | null): unknown {
  return text === null ? null : JSON.parse(text)
}
