/** Random writes with `prepare` and `check` equal those of a simple reference, on every database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../../../src/base/errors.ts'
import { system, user } from '../../../src/base/principal.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { CreateShape, Plan, UpdateShape, WriteShape } from '../../../src/engine/plan/plan.ts'
import { listShape } from '../../../src/engine/plan/system-plans.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import { mergePatch } from '../../../src/engine/store/write/documents.ts'
import { anyone, boolean, collection, integer, json, model, number, string } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import type { LogicItem, WriteContext, WriteFault } from '../../../src/model/logic/logic.ts'
import { cases } from '../../cases.ts'
import { databaseKinds, type TestDatabase } from '../../engine/store/databases.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
type Values = Readonly<Record<string, JsonValue>>

/** Sets fields of various kinds, depending on the rank: computed ones, given ones, and some back to their stored values. */
function prepare({ next, previous, caller }: WriteContext): Values {
  const rank = Number(next.rank)
  return {
    total: rank * 2 + (caller?.id ?? 0),
    ...(rank % 3 === 0 ? { name: `n${rank}` } : {}),
    ...(rank % 5 === 1 && previous !== undefined
      ? { rank: previous.rank ?? null, flag: previous.flag ?? null }
      : {}),
    ...(rank % 7 === 2 ? { extra: { was: previous?.extra ?? null } } : {}),
    changes: Number(previous?.changes ?? 0) + 1,
  }
}

function check({ next, previous }: WriteContext): readonly WriteFault[] {
  const faults: WriteFault[] = []
  if (Number(next.rank) > 15) faults.push({ field: 'rank', message: 'too high', code: 'high' })
  if (previous?.flag === true && next.flag === false) faults.push({ message: 'the flag stays' })
  return faults
}

const prepared = checkModel(
  model({
    items: collection({
      fields: {
        name: string({ searchable: true }),
        rank: integer(),
        flag: boolean({ default: false }),
        weight: number({ optional: true }),
        extra: json({ optional: true }),
        total: integer({ readOnly: true }),
        changes: integer({ readOnly: true, default: 0 }),
      },
      prepare: prepare as never,
      check: check as never,
      access,
    }),
  }),
)

const names = ['name', 'rank', 'flag', 'weight', 'extra', 'total', 'changes']
const defaults: Values = { flag: false, weight: null, extra: null, total: null, changes: 0 }
const caller = user(3, 'user', 'all')
const guard = createGuard(prepared)

type StoredItems = Map<number, LogicItem>

/** The item stored by a write, or the codes of its faults. */
function reference(next: LogicItem, previous: LogicItem | undefined): LogicItem | readonly string[] {
  const context = {
    caller: { id: 3, role: 'user', scopes: 'all' as const, thirdParty: false, app: null },
    now: '',
    previous,
  }
  const result = { ...next, ...prepare({ next, ...context }) }
  const faults = check({ next: result, ...context })
  return faults.length > 0 ? faults.map(({ code = 'invalid' }) => code) : result
}

interface Operation {
  readonly kind: 'create' | 'replace' | 'merge'
  readonly at: number
  readonly values: Values
}

const document = fc.constantFrom<JsonValue>(null, 1, 'x', { a: 1 }, { a: null, b: { c: [1] } }, [])
const arbitraries = {
  name: fc.constantFrom('a', 'b c', 'ü'),
  rank: fc.integer({ min: 0, max: 18 }),
  flag: fc.boolean(),
  weight: fc.option(fc.constantFrom(0, 0.5, -2)),
  extra: document,
}
const arbitraryItem = fc.record(arbitraries, { requiredKeys: ['name', 'rank'] })
const operations: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ kind: fc.constant('create' as const), at: fc.nat(9), values: arbitraryItem }),
  fc.record({ kind: fc.constant('replace' as const), at: fc.nat(9), values: arbitraryItem }),
  fc.record({
    kind: fc.constant('merge' as const),
    at: fc.nat(9),
    values: fc.record(arbitraries, { requiredKeys: [] }).filter(values => Object.keys(values).length > 0),
  }),
)

function planOf({ kind, values }: Operation, id: number): Plan<WriteShape> {
  const fields = Object.keys(values)
  const set = fields.map((field, index) => ({ field, param: index + 1 }))
  const select = [{ kind: 'field', key: 'id', field: 'id' }] as const
  const args = [id, ...Object.values(values)]
  const create: CreateShape = { kind: 'create', collection: 'items', set, computed: [], select }
  if (kind === 'create') return { shape: create, args }
  const documents = kind === 'merge' ? 'merge' : 'replace'
  const update = { kind: 'update', mode: kind, collection: 'items', id: 0, set, documents } as const
  const shape: UpdateShape = { ...update, ifMatch: undefined, select }
  return { shape, args }
}

/** The item to be stored; undefined if nothing changes. */
function nextOf({ kind, values }: Operation, previous: LogicItem | undefined): LogicItem | undefined {
  if (previous === undefined || kind === 'create') return { ...defaults, ...values }
  // Read-only fields keep their values.
  const keptValues = { total: previous.total ?? null, changes: previous.changes ?? null }
  const extra = mergePatch(structuredClone(previous.extra), values.extra ?? null)
  const merged = { ...previous, ...values, ...('extra' in values ? { extra } : {}) }
  const next: LogicItem = kind === 'replace' ? { ...defaults, ...values, ...keptValues } : merged
  const isSame = names.every(name => canonical(next[name]) === canonical(previous[name]))
  return isSame ? undefined : next
}

function canonical(value: JsonValue | undefined): string {
  return JSON.stringify(value ?? null)
}

async function codesOf(store: Store, plan: Plan<WriteShape>): Promise<number | readonly string[]> {
  try {
    return (await store.write(guard(plan, caller))).id
  } catch (error) {
    if (error instanceof ApiError && error.code === 'VALIDATION_FAILED')
      return error.details?.map(detail => detail.code) ?? []
    throw error
  }
}

async function itemsOf(store: Store): Promise<readonly (LogicItem & { readonly id: number })[]> {
  const answer = await store.read(
    guard({ shape: listShape('items', ['id', ...names]), args: [0, 1000] }, system),
  )
  return JSON.parse(answer.text ?? '[]')
}

async function checkAll(database: TestDatabase, all: readonly Operation[]): Promise<void> {
  const store = await database.open(prepared)
  try {
    const stored: StoredItems = new Map()
    for (const operation of all) {
      const ids = [...stored.keys()]
      const id = ids[operation.at % ids.length]
      if (operation.kind !== 'create' && id === undefined) continue
      const previous = operation.kind === 'create' ? undefined : stored.get(id ?? 0)
      const next = nextOf(operation, previous)
      const expected = next === undefined ? previous : reference(next, previous)
      const written = await codesOf(store, planOf(operation, id ?? 0))
      if (Array.isArray(expected)) assert.deepEqual(written, expected)
      else if (typeof written === 'number') stored.set(written, expected as LogicItem)
      else assert.fail(`refused: ${written.join()}`)
    }
    const items = await itemsOf(store)
    assert.deepEqual(
      items.map(({ id, ...item }) => [id, item]),
      [...stored].map(([id, item]) => [
        id,
        Object.fromEntries(names.map(name => [name, item[name] ?? null])),
      ]),
    )
  } finally {
    await store.close()
  }
}

for (const { name, within } of databaseKinds) {
  test(`writes with prepare and check equal those of the reference (${name})`, () =>
    fc.assert(
      fc.asyncProperty(fc.array(operations, { minLength: 1, maxLength: 30 }), all =>
        within(database => checkAll(database, all)),
      ),
      { ...(name === 'SQLite' ? cases(100, 30) : cases(10, 4)), endOnFailure: true },
    ))
}
