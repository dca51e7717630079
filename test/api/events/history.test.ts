/**
 * Events about documents whose related rows change, move and disappear, while the clock moves: pages tell exactly what the
 * reference in `history.ts` says. Seed: `PORTICO_SEED`; histories on each database: `PORTICO_HISTORIES`.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRest, type Rest } from '../../../src/api/rest/rest.ts'
import { anonymous, type Principal, system, user } from '../../../src/base/principal.ts'
import type { WriteAnswer } from '../../../src/engine/plan/answer.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { Plan, WriteShape } from '../../../src/engine/plan/plan.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import { createPlan, deleteShape, updateShape } from '../../../src/engine/plan/system-plans.ts'
import type { ProgramSteps } from '../../../src/engine/plan/transaction.ts'
import { openPostgres } from '../../../src/engine/store/postgres/postgres.ts'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import type { Model } from '../../../src/model/model.ts'
import { createRun } from '../../../src/server/serve/store.ts'
import { isWhole, seed } from '../../cases.ts'
import { chosen } from '../../chosen.ts'
import { idempotencyOf } from '../../engine/idempotency/of-store.ts'
import { rowSecurityDatabase } from '../../setups/databases/ordinary.ts'
import { preparedDatabase } from '../../setups/databases/prepared.ts'
import { seedItem, toCall } from '../contract/rest/harness.ts'
import {
  declareModel,
  isTellable,
  type Moment,
  Random,
  type Row,
  type Rule,
  randomRule,
  rowsOf,
  type Variant,
  type World,
  withoutRow,
  withRow,
} from './history.ts'
import { eventsOf } from './parts.ts'

const collectionsOfDocs = 3
const historiesPerModel = 25
const second = 1000

interface Service {
  readonly variant: Variant
  readonly store: Store
  readonly run: Run
  readonly rest: Rest
  readonly clock: { at: number }
  close(): Promise<void>
}

interface Opened {
  readonly store: Store
  readonly drop: () => Promise<void>
}

type OpenStore = (model: Model, now: () => number) => Promise<Opened>

interface Database {
  readonly name: string
  /** How many random histories run on it by default. */
  readonly histories: number
  readonly open: OpenStore
}

const databases: readonly Database[] = [
  {
    name: 'SQLite',
    histories: 50,
    open: async (model, now) => ({
      store: openSqlite(model, { file: ':memory:', now }),
      drop: async () => {},
    }),
  },
  {
    name: 'PostgreSQL',
    histories: 25,
    async open(model, now) {
      const { url, drop } = await preparedDatabase(model)
      return { store: await openPostgres(model, { url, connections: 3, now }), drop }
    },
  },
  {
    name: 'PostgreSQL with row security',
    histories: 25,
    async open(model, now) {
      const { url, drop } = await rowSecurityDatabase(model)
      return { store: await openPostgres(model, { url, connections: 3, rowSecurity: true, now }), drop }
    },
  },
]

async function openService(variant: Variant, open: OpenStore): Promise<Service> {
  const model = declareModel(variant)
  const clock = { at: Math.ceil(Date.now() / second) * second }
  const { store, drop } = await open(model, () => clock.at)
  const run = createRun(createGuard(model), store)
  const parts = eventsOf(store)
  const idempotency = idempotencyOf(store, run)
  const rest = createRest({ model, run, hooks: new Map(), idempotency, baseUrl: undefined, events: parts })
  for (const name of ['ann', 'bob']) await seedItem(run, 'users', { name, email: `${name}@example.com` })
  return {
    ...{ variant, store, run, rest, clock },
    async close() {
      parts.events.hub.close()
      await store.close()
      await drop()
    },
  }
}

const listeners: readonly Principal[] = [
  user(1, 'user', 'all'),
  user(2, 'user', 'all'),
  anonymous('192.0.2.1'),
]

/** One change that a client asks for. `values` undefined: a deletion; `id` undefined: a new row. */
interface Change {
  readonly name: string
  readonly id: number | undefined
  readonly values: Row | undefined
}

const timeFields = new Set(['embargo', 'opens_at', 'until'])

function toPlan({ name, id, values }: Change): Plan<WriteShape> {
  if (values === undefined) return { shape: deleteShape(name), args: [id ?? 0] }
  const given = Object.entries(values).filter(([key]) => key !== 'id')
  const stored = given.map(([key, value]): [string, JsonValue] => {
    return [key, timeFields.has(key) && value !== null ? new Date(Number(value)).toISOString() : value]
  })
  if (id === undefined) return createPlan(name, {}, Object.fromEntries(stored))
  return {
    shape: updateShape(
      name,
      stored.map(([key]) => key),
    ),
    args: [id, ...stored.map(([, value]) => value)],
  }
}

/** Creates random changes of a world. */
class Changes {
  readonly #random: Random
  #titles = 0

  constructor(random: Random) {
    this.#random = random
  }

  next(world: World, at: number): Change {
    const name = this.#random.of([
      ...['folders', 'projects', 'projects', 'members'],
      ...Array.from({ length: collectionsOfDocs }, (_, index) => [
        `docs${index}`,
        `docs${index}`,
        `holds${index}`,
        `blocks${index}`,
      ]).flat(),
    ])
    const existing = [...rowsOf(world, name).keys()]
    const kind = existing.length === 0 ? 'create' : this.#random.of(['create', 'update', 'update', 'delete'])
    const id = kind === 'create' ? undefined : this.#random.of(existing)
    const values = kind === 'delete' ? undefined : this.#values(name, world, at)
    if (values !== undefined && Object.values(values).includes('missing')) return this.next(world, at)
    return { name, id, values }
  }

  /** The text `missing` stands for a reference to a row that there is not. */
  #values(name: string, world: World, at: number): Row {
    const flag = () => this.#random.of([true, false])
    const time = () => at + (this.#random.below(10) - 4) * second
    const user = () => this.#random.of([1, 2])
    const one = (of: string) => this.#random.of([...rowsOf(world, of).keys()]) ?? 'missing'
    const maybe = (of: string) => this.#random.of([null, ...rowsOf(world, of).keys()])
    if (name === 'folders') return { trashed: flag() }
    if (name === 'projects')
      return { private: flag(), opens_at: time(), owner_id: user(), folder_id: maybe('folders') }
    if (name === 'members') return { until: time(), project_id: one('projects'), user_id: user() }
    if (name.startsWith('holds')) return { until: time(), doc_id: one(name.replace('holds', 'docs')) }
    if (name.startsWith('blocks')) return { doc_id: one(name.replace('blocks', 'docs')), user_id: user() }
    const embargo = this.#random.of([null, time()])
    return { title: `title ${++this.#titles}`, public: flag(), embargo, project_id: maybe('projects') }
  }
}

/** A commit, with the world before and after it. */
interface Commit {
  readonly before: World
  readonly after: World
  readonly at: number
  /** The numbers of its events. */
  readonly events: readonly [after: number, to: number]
  /** Several changes in one transaction. */
  readonly isBatch: boolean
}

function worldAfter(world: World, { name, id, values }: Change, variant: Variant, newId: number): World {
  if (values === undefined) return withoutRow(world, variant, name, id ?? 0)
  return withRow(world, name, newId, { ...values, id: newId })
}

async function commitOne(service: Service, world: World, change: Change): Promise<World> {
  const { id } = await service.run.write(toPlan(change), system)
  return worldAfter(world, change, service.variant, change.id ?? id)
}

/** The changes that may be made together so that no document changes twice. */
function compatible(world: World, changes: readonly Change[], variant: Variant): readonly Change[] {
  const chosen: Change[] = []
  const taken = new Set<string>()
  let current = world
  for (const [index, change] of changes.entries()) {
    if (change.id !== undefined && !rowsOf(current, change.name).has(change.id)) continue
    if (change.values && refersToNothing(change.name, change.values, current)) continue
    const next = worldAfter(current, change, variant, change.id ?? -1 - index)
    const changed = docChanges(current, next, variant).map(({ name, id }) => `${name} ${id}`)
    if (changed.some(key => taken.has(key))) continue
    for (const key of changed) taken.add(key)
    chosen.push(change)
    current = next
  }
  return chosen
}

function refersToNothing(name: string, values: Row, world: World): boolean {
  const targets = { project_id: 'projects', folder_id: 'folders', doc_id: name.replace(/^[a-z]+/, 'docs') }
  return Object.entries(targets).some(([field, target]) => {
    const id = values[field]
    return id != null && !rowsOf(world, target).has(Number(id))
  })
}

async function commitBatch(service: Service, world: World, changes: readonly Change[]): Promise<World> {
  const ids: number[] = []
  await service.run.transaction({
    principal: system,
    serial: undefined,
    *steps(): ProgramSteps<void> {
      ids.length = 0
      for (const change of changes) {
        const { id } = (yield toPlan(change)) as WriteAnswer
        ids.push(id)
      }
    },
  })
  return changes.reduce((current, change, index) => {
    return worldAfter(current, change, service.variant, change.id ?? ids[index] ?? 0)
  }, world)
}

interface DocChange {
  readonly name: string
  readonly id: number
  readonly before: Row | undefined
  readonly after: Row | undefined
}

function docChanges(before: World, after: World, { rules }: Variant): readonly DocChange[] {
  return rules.flatMap((_, index) => {
    const name = `docs${index}`
    const [old, present] = [rowsOf(before, name), rowsOf(after, name)]
    return [...new Set([...old.keys(), ...present.keys()])]
      .map(id => ({ name, id, before: old.get(id), after: present.get(id) }))
      .filter(change => JSON.stringify(change.before) !== JSON.stringify(change.after))
  })
}

interface Told {
  readonly id: string
  readonly type: string
  readonly collection: string
  readonly item_id: number
  readonly changed?: readonly string[]
  readonly data: Row | null
}

async function readAll({ rest }: Service, from: number, who: Principal): Promise<readonly Told[]> {
  const told: Told[] = []
  for (let after = String(from); ; ) {
    // Of all collections that the listener may read at all.
    const url = `/api/v1/events?after=${after}&limit=1000`
    const { body } = await rest(toCall({ url }), who)
    const { data, meta } = JSON.parse(String(body))
    told.push(...data.filter(({ collection }: Told) => collection.startsWith('docs')))
    if (!meta.has_more) return told
    after = meta.next_after
  }
}

/** The fields that the reference knows, with times as numbers. */
function knownFields(data: Row | null | undefined): Row | null {
  if (data == null) return null
  const { id = null, title = null, public: isPublic = null, embargo = null, project_id = null } = data
  const at = typeof embargo === 'string' ? Date.parse(embargo) : embargo
  return { id, title, public: isPublic, embargo: at, project_id }
}

interface Expected {
  readonly kind: 'created' | 'updated' | 'deleted'
  readonly data: Row | null
  readonly changed?: readonly string[]
}

/** What a listener is told of a change of a document; undefined: nothing. */
function expectedOf(
  { name, before, after }: DocChange,
  commit: Commit,
  today: Moment,
  userId: number | null,
  variant: Variant,
): Expected | undefined {
  const rule = variant.rules[Number(name.slice('docs'.length))] ?? assert.fail()
  const view = (doc: Row | undefined, world: World) => {
    const sight = { name, user: userId, commit: { world, at: commit.at }, today }
    return doc && isTellable(rule, { ...sight, doc }) ? knownFields(doc) : null
  }
  const [was, is] = [view(before, commit.before), view(after, commit.after)]
  if (before === undefined) return is ? { kind: 'created', data: is } : undefined
  if (after === undefined) return was ? { kind: 'deleted', data: was } : undefined
  if (is === null) return was ? { kind: 'deleted', data: null } : undefined
  const changed = Object.keys(is).filter(key => was === null || was[key] !== is[key])
  return changed.length > 0 ? { kind: 'updated', data: is, changed } : undefined
}

/** What earlier steps altered is unknown in a batch: it may tell less of what was before. Never more. */
function assertBatch(told: Expected | undefined, expected: Expected | undefined, message: string): void {
  if (told === undefined) {
    assert.ok(expected === undefined || expected.kind === 'deleted', message)
    return
  }
  assert.ok(expected, message)
  assert.deepEqual([told.kind, told.data], [expected.kind, expected.data], message)
}

function assertCommit(
  commit: Commit,
  told: readonly Told[],
  today: Moment,
  { userId }: Principal,
  { variant, message }: { readonly variant: Variant; readonly message: string },
): void {
  const [after, to] = commit.events
  const ofCommit = told.filter(({ id }) => Number(id) > after && Number(id) <= to)
  const changes = docChanges(commit.before, commit.after, variant)
  const keyOf = (name: string, id: number) => `${name} ${id}`
  const known = new Set(changes.map(({ name, id }) => keyOf(name, id)))
  for (const { collection, item_id } of ofCommit) assert.ok(known.has(keyOf(collection, item_id)), message)
  for (const change of changes) {
    const events = ofCommit.filter(({ collection, item_id }) => {
      return collection === change.name && item_id === change.id
    })
    assert.ok(events.length <= 1, message)
    const actual = events.map(({ type, data, changed }): Expected => {
      const kind = type.slice(type.indexOf('.') + 1) as Expected['kind']
      const names = changed?.filter(field => field !== 'created_at')
      return { kind, data: knownFields(data), ...(names && { changed: names }) }
    })[0]
    const expected = expectedOf(change, commit, today, userId, variant)
    const about = `${message}, ${change.name} ${change.id}, user ${userId}`
    if (commit.isBatch) assertBatch(actual, expected, about)
    else assert.deepEqual(actual, expected, about)
  }
}

async function runHistory(service: Service, random: Random, message: string): Promise<void> {
  const { store, clock, variant } = service
  const changes = new Changes(random)
  const commits: Commit[] = []
  const start = await store.changes.last()
  let world: World = new Map()
  let last = start
  const check = async () => {
    for (const who of listeners) {
      const told = await readAll(service, start, who)
      const today = { world, at: clock.at }
      for (const commit of commits) assertCommit(commit, told, today, who, { variant, message })
    }
  }
  for (let left = 12 + random.below(12); left > 0; left--) {
    if (random.below(3) === 0) clock.at += (1 + random.below(3)) * second
    const batch = random.below(5) === 0 ? [1, 2, 3].map(() => changes.next(world, clock.at)) : []
    const steps = compatible(world, batch, variant)
    const before = world
    world =
      steps.length > 0
        ? await commitBatch(service, world, steps)
        : await commitOne(service, world, changes.next(world, clock.at))
    const to = await store.changes.last()
    commits.push({ before, after: world, at: clock.at, events: [last, to], isBatch: steps.length > 1 })
    last = to
    if (random.below(12) === 0) await check()
  }
  clock.at += random.below(12) * second
  await check()
}

/** The rules of the first model: what hides is of each kind. */
const negated = (['member now', 'held', 'private'] as const).map(
  (question): Rule => ({ kind: 'not', rule: { kind: 'ask', question } }),
)

const whole = Number(process.env.PORTICO_HISTORIES ?? (isWhole ? 1000 : 0))

for (const { name, histories, open } of chosen(databases)) {
  test(`pages of events tell what the rules allowed at the commit and allow today (${name})`, async () => {
    for (let model = 0; model * historiesPerModel < (whole || histories); model++) {
      const random = new Random(seed * 1_000_003 + model)
      const rules =
        model === 0 ? negated : Array.from({ length: collectionsOfDocs }, () => randomRule(random))
      const effect = () => random.of(['cascade', 'clear'] as const)
      const variant: Variant = { rules, onDelete: [effect(), effect()] }
      const service = await openService(variant, open)
      try {
        for (let history = 0; history < historiesPerModel; history++) {
          const message = `seed ${seed}, model ${model}, history ${history}: ${JSON.stringify(rules)}`
          await runHistory(service, random, message)
        }
      } finally {
        await service.close()
      }
    }
  })
}
