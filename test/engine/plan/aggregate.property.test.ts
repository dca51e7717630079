/** Aggregates on every database equal those of the reference, for random models, rules, callers, filters and groups. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../../../src/base/errors.ts'
import { type Principal, system } from '../../../src/base/principal.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import {
  type AggregateShape,
  type FieldAlong,
  fieldMeasures,
  type GroupKey,
  type GroupSort,
  type Measure,
  type Plan,
} from '../../../src/engine/plan/plan.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import {
  anyone,
  boolean,
  choice,
  collection,
  date,
  datetime,
  model as declare,
  integer,
  number,
  text,
  users,
} from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { timeGroups } from '../../../src/model/fields/date-parts.ts'
import type { Model } from '../../../src/model/model.ts'
import { zoneChanges } from '../../../src/model/time-zone.ts'
import { cases } from '../../cases.ts'
import { seededStores } from '../../setups/databases/seeded-store.ts'
import { aggregateReference } from './aggregates.ts'
import { choices, datas, type Name, principals, readPlans, relations } from './random.ts'
import { type Data, requestTimeMs } from './reference.ts'
import { smallModel } from './small-model.ts'

const plansPerModel = 25

/** Some fields are hidden from some callers, some from all, and some have no order. */
const fields: Record<Name, readonly string[]> = {
  users: ['id', 'name', 'level', 'boss_id', 'created_at', 'password_hash'],
  posts: ['id', 'title', 'note', 'rank', 'public', 'author_id', 'created_at', 'pin', 'extra'],
  tags: ['id', 'label', 'created_at', 'nothing'],
  post_tags: ['id', 'post_id', 'tag_id', 'created_at'],
}

/** Up to two relations, a few of which lead to many items, and a field. */
function alongOf(collection: Name, deepest = 2): fc.Arbitrary<FieldAlong> {
  const own = fc.constantFrom(...fields[collection]).map((field): FieldAlong => ({ field }))
  const toFollow = relations[collection].flatMap(relation =>
    Array(relation[2] === 'one' ? 6 : 1).fill(relation),
  )
  if (deepest === 0) return own
  const related = fc
    .constantFrom<(typeof relations)[Name][number]>(...toFollow)
    .chain(([relation, target]) =>
      alongOf(target, deepest - 1).map(({ path = [], field }) => ({ path: [relation, ...path], field })),
    )
  return fc.oneof({ weight: 2, arbitrary: own }, { weight: 1, arbitrary: related })
}

function aggregationOf(collection: Name) {
  const along = alongOf(collection)
  const group: fc.Arbitrary<GroupKey> = along.chain(key =>
    key.field === 'created_at'
      ? fc.constantFrom(undefined, ...timeGroups).map(part => ({ ...key, part }))
      : fc.constant(key),
  )
  const measure: fc.Arbitrary<Measure> = fc.oneof(
    fc.constant<Measure>({ kind: 'count' }),
    fc
      .tuple(fc.constantFrom(...fieldMeasures), along)
      .map(([kind, measured]): Measure => ({ kind, ...measured })),
  )
  return fc
    .record({
      groups: fc.array(group, { maxLength: 3 }),
      measures: fc.array(measure, { maxLength: 3 }),
      sort: fc.array(fc.tuple(fc.nat(), fc.boolean()), { maxLength: 2 }),
      offset: fc.constantFrom(0, 0, 1),
      timeZone: fc.constantFrom(undefined, ...zones),
      limit: fc.integer({ min: 1, max: 4 }),
    })
    .map(({ groups, measures, sort, ...window }) => {
      const all = [
        ...groups.map((_, index) => ({ by: 'group', index }) as const),
        ...measures.map((_, index) => ({ by: 'measure', index }) as const),
      ]
      const sorted: GroupSort[] = sort.flatMap(([which, descending]) => {
        const key = all[which % Math.max(1, all.length)]
        return key ? [{ ...key, descending }] : []
      })
      const select = all.map(({ by, index }) => ({ kind: by, key: `${by}${index}`, index }) as const)
      return { groups, measures, sort: sorted, select, ...window }
    })
}

/** Aggregates over the rows of a random list. */
const aggregatePlans: fc.Arbitrary<Plan<AggregateShape>> = readPlans
  .filter(({ shape }) => shape.kind === 'list')
  .chain(({ shape, args }) => {
    if (shape.kind !== 'list') throw new TypeError('only lists have filters')
    const { collection, within, filter, search } = shape
    return aggregationOf(collection as Name).map(({ offset, limit, timeZone, ...aggregation }) => ({
      shape: {
        ...{ kind: 'aggregate' as const, collection, within, filter, search, ...aggregation },
        offset: args.length,
        limit: args.length + 1,
        zone: timeZone === undefined ? undefined : args.length + 2,
      },
      args: [...args, offset, limit, ...(timeZone === undefined ? [] : [timeZone])],
    }))
  })

async function check(model: Model, data: Data, store: Store, who: Principal, plan: Plan<AggregateShape>) {
  const expected = aggregateReference(model, data, who, plan)
  let answer: Awaited<ReturnType<Store['read']>>
  try {
    answer = await store.read(createGuard(model)(plan, who))
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error))
    assert.ok('errors' in expected && expected.errors.has(error.code), error.message)
    return
  }
  assert.ok('groups' in expected, 'answered instead of refused')
  assert.ok(answer.kind === 'list')
  const groups = answer.text === null ? null : JSON.parse(answer.text)
  assert.deepEqual(groups, expected.groups)
  if (groups !== null) assert.equal(answer.hasMore, expected.hasMore)
}

/** Every type that can be aggregated, with the limits of its range. */
const ranges = checkModel(
  declare({
    users: users(),
    rows: collection({
      fields: {
        team: choice(['red', 'blue'], { optional: true }),
        whole: integer({ optional: true }),
        real: number({ optional: true }),
        done: boolean({ optional: true }),
        day: date({ optional: true }),
        at: datetime({ optional: true }),
        name: text({ optional: true }),
      },
      access: { read: anyone, create: anyone, update: anyone, delete: anyone },
    }),
  }),
)

const most = Number.MAX_SAFE_INTEGER
const values = [
  {
    team: 'red',
    whole: most,
    real: 0.5,
    done: true,
    day: '0000-01-01',
    at: '0000-01-01T00:00:00.000Z',
    name: 'é',
  },
  {
    team: 'red',
    whole: most,
    real: 0.25,
    done: false,
    day: '2026-12-31',
    at: '2026-12-31T23:59:59.999Z',
    name: 'z',
  },
  {
    team: 'red',
    whole: most,
    real: -4,
    done: null,
    day: null,
    at: '2026-12-01T05:00:00.000Z',
    name: '\u{1f600}',
  },
  { team: 'blue', whole: -3, real: 1.7e308, done: true, day: '9999-12-31', at: null, name: '\uffff' },
  { team: 'blue', whole: 5, real: 1.7e308, done: true, day: null, at: null, name: null },
  { team: null, whole: null, real: 5e-324, done: null, day: null, at: null, name: null },
  { team: null, whole: null, real: 5e-324, done: null, day: null, at: null, name: null },
  { team: null, whole: null, real: 5e-324, done: null, day: null, at: null, name: null },
]

const time = '2026-01-01T00:00:00.000Z'
const data = {
  users: [],
  rows: values.map((row, index) => ({ id: index + 1, ...row, created_at: time })),
}

const zones = [
  ...['Europe/Berlin', 'America/New_York', 'America/Sao_Paulo', 'Australia/Lord_Howe', 'Africa/Casablanca'],
  // It skipped 30 December 2011.
  ...['Pacific/Apia', 'Asia/Kathmandu', 'Africa/Monrovia', '-03:30', 'UTC'],
]

/** Times around all changes of the zones within some years, and at the ends of the calendar. */
function timesOfChanges(): readonly string[] {
  const within = (time: number) => {
    const year = new Date(time).getUTCFullYear()
    return [1911, 1919, 1945, 1972, 2011, 2026].includes(year)
  }
  const near = [-7_200_000, -1, 0, 1_800_000, 3_599_999, 7_200_000]
  const changes = zones.flatMap(name => zoneChanges(name).times.filter(within))
  const times = changes.flatMap(time => near.map(shift => new Date(time + shift).toISOString()))
  return [
    ...times,
    ...['0000-01-01T00:00:00.000Z', '0000-02-29T12:00:00.000Z', '9999-12-31T12:00:00.000Z'],
    ...['1899-12-31T23:59:59.999Z', '2099-12-31T23:59:59.999Z', '2400-07-01T00:00:00.000Z'],
    ...['2020-12-31T23:30:00.000Z', '2021-01-03T23:30:00.000Z', '2026-12-28T00:00:00.000Z'],
  ]
}

function aggregateBy(groups: readonly GroupKey[], measures: readonly Measure[]): AggregateShape {
  return {
    kind: 'aggregate',
    ...{ collection: 'rows', within: undefined, filter: undefined, search: undefined },
    ...{ groups, measures, sort: [], offset: 0, limit: 1 },
    select: [
      ...groups.map(({ field }, index) => ({ kind: 'group', key: field, index }) as const),
      ...measures.map((each, index) => {
        const key = each.kind === 'count' ? 'count' : `${each.kind}_${each.field}`
        return { kind: 'measure', key, index } as const
      }),
    ],
  }
}

for (const { name, within } of seededStores) {
  test(`aggregates on ${name} equal those of the reference`, async () => {
    const requests = fc.array(fc.tuple(principals, aggregatePlans), {
      minLength: plansPerModel,
      maxLength: plansPerModel,
    })
    const property = fc.asyncProperty(choices.map(smallModel), datas, requests, async (model, rows, all) => {
      await within(
        model,
        rows,
        async ({ store }) => {
          for (const [who, plan] of all) await check(model, rows, store, who, plan)
        },
        () => requestTimeMs,
      )
    })
    await fc.assert(property, name === 'SQLite' ? cases(150, 50) : cases(6, 3))
  })

  test(`on ${name} sums are rounded only once, and values at the limits of their range do not overflow`, async () => {
    await within(ranges, data, async ({ store }) => {
      const read = async (shape: AggregateShape) => {
        const answer = await store.read(createGuard(ranges)({ shape, args: [0, 10] }, system))
        return String(answer.text)
      }
      const both = (field: string) => [{ kind: 'sum', field } as const, { kind: 'avg', field } as const]
      const ends = (field: string) => [{ kind: 'min', field } as const, { kind: 'max', field } as const]
      assert.equal(
        await read(aggregateBy([{ field: 'team' }], [{ kind: 'count' }, ...both('whole')])),
        // 3 × (2^53 − 1) is halfway between the doubles …0972 and …0976 and is rounded to the even one.
        `[{"team":null,"count":3,"sum_whole":null,"avg_whole":null},{"team":"blue","count":2,"sum_whole":2,"avg_whole":1},{"team":"red","count":3,"sum_whole":${BigInt(Number(3n * BigInt(most)))},"avg_whole":${BigInt(Number(3n * BigInt(most)) / 3)}}]`,
      )
      assert.deepEqual(JSON.parse(await read(aggregateBy([{ field: 'team' }], both('real')))), [
        { team: null, sum_real: 15e-324, avg_real: 0 },
        { team: 'blue', sum_real: null, avg_real: null },
        { team: 'red', sum_real: -3.25, avg_real: -3.25 / 3 },
      ])
      assert.equal(
        await read(
          aggregateBy([], [...ends('done'), ...ends('day'), ...ends('at'), ...ends('name'), ...ends('team')]),
        ),
        '[{"min_done":false,"max_done":true,"min_day":"0000-01-01","max_day":"9999-12-31","min_at":"0000-01-01T00:00:00.000Z","max_at":"2026-12-31T23:59:59.999Z","min_name":"z","max_name":"\u{1f600}","min_team":"blue","max_team":"red"}]',
      )
      assert.equal(
        await read(aggregateBy([{ field: 'at', part: 'month' }], [{ kind: 'count' }])),
        '[{"at":null,"count":5},{"at":"0000-01","count":1},{"at":"2026-12","count":2}]',
      )
      assert.equal(
        await read(aggregateBy([{ field: 'day', part: 'year' }, { field: 'done' }], [])),
        '[{"day":null,"done":null},{"day":null,"done":true},{"day":"0000","done":true},{"day":"2026","done":false},{"day":"9999","done":true}]',
      )
    })
  })

  test(`on ${name} times are grouped as the clocks of a time zone show them, and dates as they are`, async () => {
    const times = timesOfChanges()
    const rows = [null, ...times].map((at, index) => ({
      id: index + 1,
      at,
      day: at?.slice(0, 10) ?? null,
      created_at: time,
    }))
    await within(ranges, { users: [], rows }, async ({ store }) => {
      for (const zone of zones) {
        for (const part of timeGroups) {
          const groups = [{ field: 'at', part }, ...(part === 'hour' ? [] : [{ field: 'day', part }])]
          const shape = { ...aggregateBy(groups, [{ kind: 'count' }]), zone: 2 }
          const descending = { ...shape, sort: [{ by: 'group', index: 0, descending: true } as const] }
          for (const sorted of [shape, descending])
            await check(ranges, { users: [], rows }, store, system, { shape: sorted, args: [0, 5000, zone] })
        }
      }
    })
  })
}
