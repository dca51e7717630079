/** Writes by `data` that other clients' requests do not offer, on each database: by a service in this process. */
import assert from 'node:assert/strict'
import { after, before, describe, it, test } from 'node:test'
import type { ApiError } from '../../../src/base/errors.ts'
import { service as system } from '../../../src/base/principal.ts'
import { createData, type Execute, executeBy } from '../../../src/engine/logic/data/create-data.ts'
import type { CollectionData } from '../../../src/engine/logic/data/data.ts'
import { defaultOperationLimits } from '../../../src/engine/logic/operations/call.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import {
  anyone,
  collection,
  field,
  integer,
  json,
  model,
  number,
  relation,
  role,
  string,
  unique,
  users,
} from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { ProgramData } from '../../../src/model/types/types.ts'
import { createRun } from '../../../src/server/serve/store.ts'
import type { TestService } from '../../../src/testing.ts'
import { databaseKinds } from '../../engine/store/databases.ts'
import { serviceOn } from './service-on.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
const maxCascade = 6
/** What `prepare` was last given. */
let prepared: readonly unknown[] = []

const declared = model({
  users: users({}),
  parts: collection({
    fields: {
      kind: string(),
      n: integer({ default: 0 }),
      parent_id: relation('parts', { optional: true, onDelete: 'cascade' }),
    },
    prepare: ({ next }) => ({ kind: next.kind.toLowerCase() }),
    check: ({ next }) => (next.n === 13 ? [{ field: 'n', message: 'Not 13.' }] : []),
    access: { ...access, read: field('n').ne(99) },
  }),
  seats: collection({
    fields: {
      row: string(),
      place: integer(),
      code: string({ unique: true, optional: true, access: { read: field('row').ne('hidden') } }),
      holder: string({ optional: true }),
      times: integer({ default: 1 }),
    },
    indexes: [unique('row', 'place')],
    prepare: ({ next, previous }) => (previous === undefined ? {} : { times: next.times + 1 }),
    check: ({ next }) => (next.holder === 'nobody' ? [{ field: 'holder', message: 'Somebody.' }] : []),
    access: { ...access, update: field('row').ne('fixed') },
  }),
  counters: collection({
    fields: {
      n: integer({ default: 0 }),
      share: number({ default: 0 }),
      small: integer({ optional: true, max: 5 }),
      doubled: integer({ optional: true, readOnly: true }),
      secret: integer({ default: 1, access: { read: role('admin') } }),
      fixed: integer({ default: 1, access: { write: role('admin') } }),
      reference_id: relation('rooms', { optional: true }),
    },
    prepare: ({ next, previous }) => {
      prepared = [previous?.n, next.n]
      return { doubled: 2 * next.n }
    },
    check: ({ next }) => (next.n === 13 ? [{ field: 'n', message: 'Not 13.' }] : []),
    access,
  }),
  rooms: collection({
    fields: {
      name: string(),
      seats: integer({ default: 10, min: -100, max: 100 }),
      price: number({ default: 0 }),
      about: json({ optional: true }),
    },
    updatedAt: true,
    access,
  }),
})

type Declared = typeof declared

for (const kind of databaseKinds) {
  describe(`writes by data on ${kind.name}`, () => {
    let service: TestService<Declared>
    let close: () => Promise<void>
    before(async () => {
      const shared = await serviceOn(kind, declared, { quotas: { cascade: maxCascade } })
      service = shared.service
      close = shared.close
    })
    after(() => close())

    const room = (values = {}) => service.asSystem.rooms.create({ name: 'a', ...values })

    it('a change that names the item as it was read is refused once that has changed', async () => {
      const { rooms } = service.asSystem
      const { id } = await room({ about: { size: [1, { x: null }] } })
      const [whole] = await rooms.list({ where: { id } })
      const part = await rooms.get(id, { fields: ['seats'] })
      assert.ok(whole && part)
      await rooms.update(id, { name: 'b' }, { ifMatch: whole })
      await assert.rejects(rooms.update(id, { name: 'c' }, { ifMatch: whole }), {
        code: 'PRECONDITION_FAILED',
      })
      await assert.rejects(rooms.delete(id, { ifMatch: whole }), { code: 'PRECONDITION_FAILED' })
      // The seats are as they were.
      const updated = await rooms.update(id, { seats: 9 }, { ifMatch: part })
      await assert.rejects(rooms.delete(id, { ifMatch: part }), { code: 'PRECONDITION_FAILED' })
      await rooms.delete(id, { ifMatch: updated })
      await assert.rejects(rooms.delete(id, { ifMatch: updated }), { code: 'NOT_FOUND' })
    })

    it('an item without fields to compare is a mistake', async () => {
      const { id } = await room()
      for (const ifMatch of [{}, { id }, null, undefined, 'tag', [1], { seats: 1, seat: 1 }] as never[])
        await assert.rejects(service.asSystem.rooms.update(id, { seats: 1 }, { ifMatch }), {
          code: 'BAD_REQUEST',
          message: /must be an item as it was read/,
        })
    })

    const counter = (values = {}) => service.asSystem.counters.create(values)
    const counterOf = async (id: number) => {
      const found = await service.asSystem.counters.get(id)
      assert.ok(found)
      return found
    }

    it('an increment is computed from the stored number, and code and events see the result', async () => {
      const { counters } = service.asSystem
      const { id } = await counter({ n: 5, share: 0.5 })
      const updated = await counters.update(id, {
        n: { increment: 2 },
        share: { increment: -0.25, min: 0.25 },
      })
      assert.deepEqual([updated.n, updated.share, updated.doubled], [7, 0.25, 14])
      assert.deepEqual(prepared, [5, 7])
      await counters.update(id, { n: { increment: 0 } })
      const { body } = await service.request(
        `GET /api/v1/events?after=0&types=counter.updated&item_id=${id}&collections=counters`,
      )
      const changes = body.data.map(({ changed, data }: { changed: string[]; data: { n: number } }) => [
        [...changed].sort(),
        data.n,
      ])
      assert.deepEqual(changes, [[['doubled', 'n', 'share'], 7]])
    })

    it('an increment beyond a bound is refused, and changes nothing', async () => {
      const { counters } = service.asSystem
      const { id } = await counter({ n: 12, small: 4, share: 2 ** 53 - 2 })
      const refused = async (values: Parameters<typeof counters.update>[1], code: string, field: string) =>
        assert.rejects(counters.update(id, values), (error: ApiError) => {
          assert.deepEqual([error.code, error.details?.map(fault => fault.field)], [code, [field]])
          return true
        })
      await refused({ n: { increment: -13, min: 0 } }, 'CONFLICT', 'n')
      await refused({ n: { increment: 1, max: 12 } }, 'CONFLICT', 'n')
      await refused({ small: { increment: 2 } }, 'VALIDATION_FAILED', 'small')
      await refused({ n: { increment: Number.MAX_SAFE_INTEGER } }, 'CONFLICT', 'n')
      await refused({ share: { increment: 2 } }, 'CONFLICT', 'share')
      await refused({ share: { increment: 0.25 } }, 'CONFLICT', 'share')
      // By the collection's own `check`.
      await refused({ n: { increment: 1 } }, 'VALIDATION_FAILED', 'n')
      const { n, small, share } = await counterOf(id)
      assert.deepEqual([n, small, share], [12, 4, 2 ** 53 - 2])
      await counters.update(id, { n: { increment: -12, min: 0 }, small: { increment: 1 } })
      await counters.update(id, { small: null })
      await refused({ small: { increment: 1 } }, 'CONFLICT', 'small')
    })

    it('a malformed increment, and one of a field without quantities, are refused', async () => {
      const { counters } = service.asSystem
      const { id } = await counter()
      const malformed = [
        { increment: 0.5 },
        { increment: '1' },
        {},
        { increment: 1, min: '0' },
        { increment: 1, by: 2 },
      ]
      for (const n of [...malformed, { increment: Number.NaN }, { increment: 2 ** 53 }] as never[])
        await assert.rejects(counters.update(id, { n }), { code: 'BAD_REQUEST' })
      for (const values of [{ reference_id: { increment: 1 } }, { doubled: [1] }] as never[])
        await assert.rejects(counters.update(id, values), { code: 'VALIDATION_FAILED' })
      assert.equal((await counterOf(id)).n, 0)
    })

    it('an increment by a user needs the right to read and to write the field', async () => {
      const ada = await service.users.create({})
      const { id } = await counter()
      const { counters } = asUser(service, ada.id)
      await assert.rejects(counters.update(id, { secret: { increment: 0, min: 5 } }), { code: 'FORBIDDEN' })
      await assert.rejects(counters.update(id, { fixed: { increment: 1 } }), { code: 'FORBIDDEN' })
      await assert.rejects(counters.update(id, { doubled: { increment: 1 } } as never), {
        code: 'VALIDATION_FAILED',
      })
      assert.equal((await counters.update(id, { n: { increment: 3 } })).n, 3)
    })

    it('32 writers lose no increment, and stay within its bound', async () => {
      const { id } = await counter({ share: 40 })
      const { id: other } = await counter({ n: 20 })
      const take = async () => {
        for (let round = 0; round < 2; round++) {
          await service.asSystem.counters.update(other, { n: { increment: 1 } })
          await service.asSystem.counters.update(id, { share: { increment: -1, min: 0 } })
        }
      }
      const outcomes = await Promise.allSettled(Array.from({ length: 32 }, take))
      const refused = outcomes.filter(outcome => outcome.status === 'rejected')
      for (const { reason } of refused) assert.equal(reason.code, 'CONFLICT')
      const taken = (await counterOf(other)).n - 20 - refused.length
      assert.equal((await counterOf(id)).share, 40 - taken)
      assert.equal(taken, 40)
    })

    it('increments in a transaction see each other', async () => {
      const { id } = await counter()
      const counted = service.asSystem.transaction(async data => {
        await data.counters.update(id, { n: { increment: 2 } })
        await data.counters.update(id, { n: { increment: 3 } })
        await assert.rejects(data.counters.update(id, { n: { increment: -9, min: 0 } }), { code: 'CONFLICT' })
        return (await data.counters.get(id))?.n
      })
      assert.equal(await counted, 5)
    })

    const partsOf = (kind: string) => service.asSystem.parts.list({ where: { kind } })
    const createParts = async (kind: string, count: number) => {
      const body = Array.from({ length: count }, (_, n) => ({ kind, n: n === 13 || n === 99 ? -n : n }))
      const { status } = await service.request('POST /api/v1/parts', { body })
      assert.equal(status, 201)
    }

    it('a list without `limit` has all items, up to 1,000', async () => {
      const { parts } = service.asSystem
      for (let times = 0; times < 2; times++) await createParts('many', 500)
      assert.equal((await partsOf('many')).length, 1000)
      await parts.create({ kind: 'many' })
      const { rejects } = assert
      const tooMany = { code: 'BAD_REQUEST', message: /parts\.\w+ finds more than 1,000 items/ }
      await rejects(partsOf('many'), tooMany)
      await rejects(parts.updateWhere({ kind: 'many' }, { kind: 'x' }), tooMany)
      await rejects(parts.deleteWhere({ kind: 'many' }), tooMany)
      assert.equal(await parts.count({ kind: 'many' }), 1001)
      assert.equal((await parts.list({ where: { kind: 'many' }, limit: 1000 })).length, 1000)
      assert.equal((await parts.list({ where: { kind: 'many' }, page: 2 })).length, 100)
      await rejects(parts.list({ limit: 1001 }), { code: 'BAD_REQUEST' })
      await rejects(parts.deleteWhere({ kind: 'many' }, { limit: 0 }), { code: 'BAD_REQUEST' })
      await rejects(parts.deleteWhere(undefined as never), { code: 'BAD_REQUEST' })
      await rejects(parts.updateWhere({}, {}, null as never), { code: 'BAD_REQUEST' })
      const deleted = [
        await parts.deleteWhere({ kind: 'many' }, { limit: 1000 }),
        await parts.deleteWhere({ kind: 'many' }),
      ]
      assert.deepEqual(deleted, [1000, 1])
      assert.equal(await parts.deleteWhere({ kind: 'many' }), 0)
    })

    it('`updateWhere` changes each match as an update would, or none', async () => {
      const { parts } = service.asSystem
      await createParts('each', 13)
      const end = (await service.request('GET /api/v1/events')).body.meta.next_after
      // The number 12 would become 13.
      await assert.rejects(parts.updateWhere({ kind: 'each' }, { n: { increment: 1 } }), {
        code: 'VALIDATION_FAILED',
      })
      assert.deepEqual(
        (await partsOf('each')).map(({ n }) => n).toSorted((a, b) => a - b),
        [...Array(13).keys()],
      )
      assert.equal(
        await parts.updateWhere({ kind: 'each', n: { lt: 12 } }, { kind: 'OTHER', n: { increment: 100 } }),
        12,
      )
      const others = await partsOf('other')
      assert.deepEqual(
        others.map(({ n }) => n).toSorted((a, b) => a - b),
        Array.from({ length: 12 }, (_, n) => n + 100),
      )
      const { body } = await service.request(
        `GET /api/v1/events?after=${end}&collections=parts&types=part.updated&item_id=${others[0]?.id}`,
      )
      assert.deepEqual(
        body.data.map(({ changed }: { changed: string[] }) => changed.toSorted()),
        [['kind', 'n']],
      )
      assert.equal(await parts.updateWhere({ kind: 'other' }, { kind: 'third' }, { limit: 5 }), 5)
      assert.equal(await parts.count({ kind: 'third' }), 5)
    })

    it('`deleteWhere` passes over items that went with an earlier one', async () => {
      const { parts } = service.asSystem
      const root = await parts.create({ kind: 'tree' })
      for (const n of [1, 2]) await parts.create({ kind: 'tree', n, parent_id: root.id })
      const remaining = await parts.create({ kind: 'tree', n: 3 })
      assert.equal(await parts.deleteWhere({ kind: 'tree' }), 2)
      assert.deepEqual(await partsOf('tree'), [])
      assert.equal(await parts.get(remaining.id), null)
    })

    it('the deletions of `deleteWhere` together delete no more other items than one may', async () => {
      const { parts } = service.asSystem
      for (let n = 0; n < 3; n++) {
        const root = await parts.create({ kind: 'root' })
        for (let leaf = 0; leaf < maxCascade / 2; leaf++)
          await parts.create({ kind: 'leaf', parent_id: root.id })
      }
      await assert.rejects(parts.deleteWhere({ kind: 'root' }), {
        code: 'CONFLICT',
        message: `Deleting these items would delete or change more than ${maxCascade} other items at once. Delete fewer: say \`limit\`.`,
      })
      assert.equal(await parts.count({ kind: 'leaf' }), 1.5 * maxCascade)
      assert.equal(await parts.deleteWhere({ kind: 'root' }, { limit: 2 }), 2)
      assert.equal(await parts.deleteWhere({ kind: 'root' }), 1)
      assert.equal(await parts.count({ kind: 'leaf' }), 0)
    })

    it('a failed call of several writes within a transaction has changed nothing', async () => {
      await createParts('inner', 13)
      await service.asSystem.transaction(async data => {
        await data.parts.create({ kind: 'inner', n: 50 })
        const failed = data.parts.updateWhere({ kind: 'inner' }, { n: { increment: 1 } })
        await assert.rejects(failed, { code: 'VALIDATION_FAILED' })
        assert.equal(await data.parts.deleteWhere({ kind: 'inner', n: { lt: 3 } }), 3)
      })
      const numbers = (await partsOf('inner')).map(({ n }) => n).toSorted((a, b) => a - b)
      assert.deepEqual(numbers, [...Array.from({ length: 10 }, (_, n) => n + 3), 50])
    })

    it('a user changes only the items of a filter that they may read', async () => {
      const ada = await service.users.create({})
      for (const n of [98, 99]) await service.asSystem.parts.create({ kind: 'seen', n })
      const { parts } = asUser(service, ada.id)
      assert.equal(await parts.updateWhere({ kind: 'seen' }, { kind: 'mine' }), 1)
      assert.equal(await parts.deleteWhere({ kind: { in: ['seen', 'mine'] } }), 1)
      assert.deepEqual(
        (await partsOf('seen')).map(({ n }) => n),
        [99],
      )
    })

    it('of concurrent calls that take the next item, each gets one of its own', async () => {
      const { parts } = service.asSystem
      await createParts('free', 10)
      const take = async (_: unknown, by: number) =>
        parts.updateWhere({ kind: 'free' }, { kind: `taken ${by}` }, { limit: 1 })
      const outcomes = await Promise.allSettled(Array.from({ length: 16 }, take))
      const taken = outcomes.map(outcome => {
        if (outcome.status === 'rejected') assert.equal(outcome.reason.code, 'CONFLICT')
        return outcome.status === 'fulfilled' ? outcome.value : 0
      })
      const left = await parts.count({ kind: 'free' })
      assert.equal(
        taken.reduce((sum, count) => sum + count, 0),
        10 - left,
      )
      assert.equal(await parts.count({ kind: { starts_with: 'taken ' } }), 10 - left)
    })

    const seatOf = { by: ['place', 'row'] } as const

    it('an upsert changes the item of a unique key, or creates it', async () => {
      const { seats } = service.asSystem
      const first = await seats.upsert(seatOf, { row: 'a', place: 1, holder: 'Ada' })
      const second = await seats.upsert(seatOf, { row: 'a', place: 1, holder: 'Ben', code: 'x' })
      assert.deepEqual([first.created, second.created, second.item.id], [true, false, first.item.id])
      assert.deepEqual([second.item.holder, second.item.times], ['Ben', 2])
      const third = await seats.upsert({ by: 'code' }, { row: 'a', place: 2, code: 'x' })
      // What is not given keeps its value.
      assert.deepEqual([third.item.id, third.item.place, third.item.holder], [first.item.id, 2, 'Ben'])
      const nobody = { row: 'a', place: 2, holder: 'nobody' }
      await assert.rejects(seats.upsert(seatOf, nobody), { code: 'VALIDATION_FAILED' })
      await assert.rejects(seats.upsert(seatOf, { ...nobody, place: 3 }), { code: 'VALIDATION_FAILED' })
      assert.equal(await seats.count({ row: 'a' }), 1)
    })

    it('an upsert by other fields, or without a value of its key, is a mistake', async () => {
      const { seats } = service.asSystem
      for (const by of ['row', ['row'], ['code', 'row'], [], 'id', undefined] as never[])
        await assert.rejects(seats.upsert({ by }, { row: 'b', place: 1, code: 'b' }), {
          code: 'BAD_REQUEST',
          message: /must be a unique field, or the fields of a unique index: code, row and place/,
        })
      for (const code of [null, undefined] as never[])
        await assert.rejects(seats.upsert({ by: 'code' }, { row: 'b', place: 1, code }), {
          code: 'BAD_REQUEST',
        })
      for (const times of [1, 0])
        await assert.rejects(
          seats.upsert(seatOf, { row: 'b', place: 3, times: { increment: times } } as never),
          { code: 'BAD_REQUEST' },
        )
      // No operator of a filter.
      const operator = { contains: '' } as never
      await seats.create({ row: 'b', place: 1, code: 'bbb' })
      await assert.rejects(seats.upsert({ by: 'code' }, { row: 'b', place: 2, code: operator }))
      assert.equal(await seats.count({ row: 'b' }), 1)
    })

    it('an upsert by a user is subject to the rules, and tells of no hidden item more than a create', async () => {
      const ada = await service.users.create({})
      const { seats } = asUser(service, ada.id)
      await service.asSystem.seats.create({ row: 'fixed', place: 1 })
      await assert.rejects(seats.upsert(seatOf, { row: 'fixed', place: 1, holder: 'Ada' }), {
        code: 'FORBIDDEN',
      })
      await service.asSystem.seats.create({ row: 'hidden', place: 1, code: 'secret' })
      const taken = await seats.create({ row: 'c', place: 1, code: 'secret' }).catch(error => error)
      const upserted = await seats
        .upsert({ by: 'code' }, { row: 'c', place: 1, code: 'secret' })
        .catch(error => error)
      assert.deepEqual([upserted.code, upserted.message], [taken.code, taken.message])
      assert.equal(upserted.code, 'CONFLICT')
    })

    it('32 concurrent upserts of one key leave one item, also while it is deleted', async () => {
      const { seats } = service.asSystem
      const upsert = (holder: string) => seats.upsert(seatOf, { row: 'd', place: 1, holder })
      const results = await Promise.all(Array.from({ length: 32 }, (_, n) => upsert(`h${n}`)))
      assert.equal(results.filter(({ created }) => created).length, 1)
      assert.equal((await seats.list({ where: { row: 'd' } }))[0]?.times, 32)
      const deleting = Array.from({ length: 4 }, () => seats.deleteWhere({ row: 'd' }))
      await Promise.allSettled([...deleting, ...Array.from({ length: 12 }, (_, n) => upsert(`i${n}`))])
      assert.ok((await seats.count({ row: 'd' })) <= 1)
    })

    it('upserts in transactions are exact, too', async () => {
      const upserts = Array.from({ length: 8 }, (_, n) =>
        service.asSystem.transaction(async data => {
          const { created } = await data.seats.upsert(seatOf, { row: 'e', place: 1, holder: `h${n}` })
          return created
        }),
      )
      const outcomes = await Promise.allSettled(upserts)
      const failures = outcomes.filter(({ status }) => status === 'rejected')
      for (const failure of failures) assert.equal('reason' in failure && failure.reason.code, 'CONFLICT')
      const [seat] = await service.asSystem.seats.list({ where: { row: 'e' } })
      assert.equal(seat?.times, 8 - failures.length)
      assert.equal(outcomes.filter(outcome => outcome.status === 'fulfilled' && outcome.value).length, 1)
    })
  })
}

test('an upsert that others overtake again and again ends in a transaction', async () => {
  const checked = checkModel(declared)
  const run = createRun(createGuard(checked), openSqlite(checked, { file: ':memory:' }))
  const direct = executeBy(run, defaultOperationLimits)
  const dataBy = (execute: Execute) =>
    createData({ model: checked, hooks: new Map(), execute }, system)['seats'] as CollectionData
  const others = dataBy(direct)
  let overtaken = 0
  // Before each write of its own, another one creates the item that it has not found, or deletes the one that it has found.
  const seats = dataBy(async (work, principal) => {
    const kind = typeof work === 'function' ? undefined : work.shape.kind
    if (kind === 'create') await others.create({ row: 'z', place: 1, holder: 'another' })
    if (kind === 'update') await others.deleteWhere({ row: 'z' })
    if (kind === 'create' || kind === 'update') overtaken++
    return direct(work, principal)
  })
  const { created, item } = await seats.upsert(
    { by: ['row', 'place'] },
    { row: 'z', place: 1, holder: 'mine' },
  )
  assert.equal(overtaken, 5)
  // The last of them has created it.
  assert.deepEqual([created, item['holder']], [false, 'mine'])
  assert.equal(await others.count({ row: 'z' }), 1)
})

test('on SQLite, writes by a filter that take too long are undone', async () => {
  const checked = checkModel(declared)
  const store = openSqlite(checked, { file: ':memory:' })
  const run = createRun(createGuard(checked), store)
  const partsFor = (timeMs: number) => {
    const execute = executeBy(run, { ...defaultOperationLimits, timeMs })
    return createData({ model: checked, hooks: new Map(), execute }, system)['parts'] as CollectionData
  }
  const parts = partsFor(1000)
  for (let n = 0; n < 50; n++) await parts.create({ kind: 'a', n: n + 100 })
  await assert.rejects(partsFor(-1).updateWhere({}, { kind: 'b' }), { code: 'UNAVAILABLE' })
  await assert.rejects(partsFor(-1).deleteWhere({}), { code: 'UNAVAILABLE' })
  assert.equal(await parts.count({ kind: 'a' }), 50)
  assert.equal(await parts.updateWhere({}, { kind: 'b' }), 50)
  await store.close()
})

test('an upsert does not change an item whose key others have changed since it was found', async () => {
  const checked = checkModel(declared)
  const store = openSqlite(checked, { file: ':memory:' })
  const base = executeBy(createRun(createGuard(checked), store), defaultOperationLimits)
  const seatsBy = (execute: typeof base) =>
    createData({ model: checked, hooks: new Map(), execute }, system)['seats'] as CollectionData
  const others = seatsBy(base)
  const { id } = await others.create({ row: 'a', place: 1 })
  let searches = 0
  const seats = seatsBy(async (work, principal) => {
    const answer = await base(work, principal)
    const isSearch = typeof work !== 'function' && work.shape.kind === 'list'
    if (isSearch && ++searches === 1) await others.update(Number(id), { place: 2 })
    return answer
  })
  const { created, item } = await seats.upsert(
    { by: ['row', 'place'] },
    { row: 'a', place: 1, holder: 'Ada' },
  )
  assert.deepEqual([created, item['holder'], searches], [true, 'Ada', 2])
  assert.equal((await others.get(Number(id)))?.['holder'], null)
  await store.close()
})

/** `data` as a user, which `service.data` of a program has. */
function asUser(service: TestService<Declared>, id: number): ProgramData<Declared> {
  const data = service.asSystem as unknown as { as(user: number): ProgramData<Declared> }
  return data.as(id)
}
