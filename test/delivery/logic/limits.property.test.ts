/**
 * Limits under concurrent writes by two nodes: replaying the log in commit order shows that a limit is never exceeded, and
 * that no write is refused if there was room for it during the whole attempt.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../../../src/base/errors.ts'
import { user } from '../../../src/base/principal.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { Plan, WriteShape } from '../../../src/engine/plan/plan.ts'
import { createPlan, deleteShape, updateShape } from '../../../src/engine/plan/system-plans.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import { anyone, atMost, boolean, collection, field, integer, model, relation } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import { cases } from '../../cases.ts'
import { databaseKinds, type TestDatabase } from '../../engine/store/databases.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
const perGroup = 2
const perTeam = 2
const inAll = 5

const limited = checkModel(
  model({
    teams: collection({ fields: { n: integer() }, access }),
    members: collection({
      fields: {
        group: integer({ optional: true }),
        on: boolean(),
        team_id: relation('teams', { inverse: 'members', optional: true, onDelete: 'clear' }),
      },
      limits: [
        atMost(perGroup, { per: 'group', where: field('on').eq(true) }),
        atMost(perTeam, { per: 'team_id' }),
        atMost(inAll, { where: field('on').eq(true).or(field('team_id').eq(null)) }),
      ],
      access,
    }),
  }),
)

interface Member {
  readonly id: number
  readonly group: number | null
  readonly on: boolean
  readonly team_id: number | null
}

type Members = ReadonlyMap<number, Member>

/** Counts the other members that satisfy `counts`. */
type CountOthers = (counts: (member: Member) => boolean) => number

function hasRoom({ group, on, team_id }: Member, countOthers: CountOthers): boolean {
  if (group !== null && on && countOthers(member => member.on && member.group === group) >= perGroup)
    return false
  if (team_id !== null && countOthers(member => member.team_id === team_id) >= perTeam) return false
  const isCounted = (member: Member) => member.on || member.team_id === null
  return !(on || team_id === null) || countOthers(isCounted) < inAll
}

type Values = Readonly<Record<string, JsonValue>>

type Operation =
  | { readonly kind: 'create'; readonly values: Values }
  | { readonly kind: 'update'; readonly at: number; readonly values: Values }
  | { readonly kind: 'delete'; readonly at: number }
  | { readonly kind: 'disband'; readonly at: number }

const teams = 3
const groups = fc.option(fc.integer({ min: 1, max: 2 }))
const teamIds = fc.option(fc.integer({ min: 1, max: teams }))
const values = { group: groups, on: fc.boolean(), team_id: teamIds }
const operations: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('create' as const), values: fc.record(values) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('update' as const),
      at: fc.nat(20),
      values: fc.record(values, { requiredKeys: [] }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), at: fc.nat(20) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('disband' as const), at: fc.integer({ min: 1, max: teams }) }),
  },
)

const caller = user(1, 'user', 'all')
const guard = createGuard(limited)

function planOf(operation: Operation, ids: readonly number[]): Plan<WriteShape> | undefined {
  if (operation.kind === 'create') return createPlan('members', operation.values, {})
  if (operation.kind === 'disband') return { shape: deleteShape('teams'), args: [operation.at] }
  const id = ids[operation.at % ids.length]
  if (id === undefined) return undefined
  if (operation.kind === 'delete') return { shape: deleteShape('members'), args: [id] }
  const names = Object.keys(operation.values)
  return { shape: updateShape('members', names), args: [id, ...Object.values(operation.values)] }
}

interface Refusal {
  readonly operation: Operation
  readonly id: number | undefined
  /** The last events before the request and before the response. */
  readonly from: number
  readonly to: number
}

async function attempt(
  store: Store,
  operation: Operation,
  ids: readonly number[],
): Promise<Refusal | undefined> {
  const plan = planOf(operation, ids)
  if (plan === undefined) return undefined
  const from = await store.changes.last()
  try {
    await store.write(guard(plan, caller))
    return undefined
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    // Another write has deleted the item or its team.
    if (error.code === 'NOT_FOUND' || error.code === 'VALIDATION_FAILED') return undefined
    assert.equal(error.code, 'CONFLICT', error.message)
    const id = operation.kind === 'update' ? ids[operation.at % ids.length] : undefined
    return { operation, id, from, to: await store.changes.last() }
  }
}

interface State {
  readonly event: number
  readonly members: Members
}

/** The members after each event. */
async function statesOf(store: Store): Promise<readonly State[]> {
  const changes = await store.changes.after(0, 10_000)
  const members = new Map<number, Member>()
  const states: State[] = [{ event: 0, members: new Map() }]
  for (const { event, collection: name, kind, id, row } of changes) {
    if (name !== 'members') continue
    if (kind === 'deleted') members.delete(id)
    else members.set(id, JSON.parse(row))
    states.push({ event, members: new Map(members) })
  }
  return states
}

/** Checks states after a commit only: deleting a team logs one event per member, and states in between may exceed a limit. */
function requireKept(states: readonly State[], committed: ReadonlySet<number>): void {
  for (const { event, members } of states) {
    if (!committed.has(event)) continue
    for (const member of members.values()) {
      const others = [...members.values()].filter(other => other.id !== member.id)
      const hasOwn = hasRoom(member, counts => others.filter(counts).length)
      assert.ok(hasOwn, `at event ${event}: ${JSON.stringify([...members.values()])}`)
    }
  }
}

/**
 * Requires that a limit was full at some time during the attempt. Concurrent writes may be counted in another order than
 * they are logged, so every member that existed during the attempt counts.
 */
function requireReason({ operation, id, from, to }: Refusal, states: readonly State[]): void {
  const last = states.findLastIndex(({ event }) => event <= from)
  const during = states.filter(({ event }, index) => index >= last && event <= to)
  const versions = during.flatMap(({ members }) => [...members.values()])
  const expected = membersAfter(operation, id, versions)
  const all = operation.kind === 'disband' ? [...versions, ...expected] : versions
  const isFull = expected.some(
    member =>
      !hasRoom(
        member,
        counts =>
          new Set(all.filter(other => other.id !== member.id && counts(other)).map(member => member.id)).size,
      ),
  )
  assert.ok(isFull, `refused without a reason: ${JSON.stringify(operation)}`)
}

/** The members that the operation would have stored, for each of their versions. */
function membersAfter(
  operation: Operation,
  id: number | undefined,
  versions: readonly Member[],
): readonly Member[] {
  switch (operation.kind) {
    case 'create':
      return [{ id: 0, group: null, on: false, team_id: null, ...operation.values }]
    case 'update':
      return versions
        .filter(version => version.id === id)
        .map(version => ({ ...version, ...operation.values }))
    case 'delete':
      return []
    case 'disband':
      return versions
        .filter(version => version.team_id === operation.at)
        .map(version => ({ ...version, team_id: null }))
  }
}

async function checkBatches(
  database: TestDatabase,
  batches: readonly (readonly Operation[])[],
): Promise<void> {
  const nodes = [await database.open(limited), await database.open(limited)] as const
  try {
    for (let n = 0; n < teams; n++) await nodes[0].write(guard(createPlan('teams', { n }, {}), caller))
    const refusals: Refusal[] = []
    const between = new Set<number>()
    for (const batch of batches) {
      await Promise.all(nodes.map(node => node.refresh()))
      const ids = [...((await statesOf(nodes[0])).at(-1)?.members.keys() ?? [])]
      const refused = await Promise.all(
        batch.map((operation, index) => attempt(nodes[index % 2] ?? nodes[0], operation, ids)),
      )
      refusals.push(...refused.filter(refusal => refusal !== undefined))
      const states = await statesOf(nodes[0])
      const hasCascades = batch.some(({ kind }) => kind === 'disband')
      for (const { event } of hasCascades ? states.slice(-1) : states) between.add(event)
    }
    const states = await statesOf(nodes[0])
    requireKept(states, between)
    for (const refusal of refusals) requireReason(refusal, states)
  } finally {
    await Promise.all(nodes.map(node => node.close()))
  }
}

const batches = fc.array(fc.array(operations, { minLength: 1, maxLength: 12 }), {
  minLength: 1,
  maxLength: 6,
})

for (const { name, within } of databaseKinds) {
  test(`limits are never exceeded, and no item within them is refused (${name})`, () =>
    fc.assert(
      fc.asyncProperty(batches, all => within(database => checkBatches(database, all))),
      { ...(name === 'SQLite' ? cases(60, 20) : cases(12, 4)), endOnFailure: true },
    ))
}
