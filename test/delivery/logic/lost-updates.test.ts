/** Changes that replace what others have changed since it was read are made, and told. */
import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import { service as system, user } from '../../../src/base/principal.ts'
import { createData, executeBy } from '../../../src/engine/logic/data/create-data.ts'
import type { CollectionData } from '../../../src/engine/logic/data/data.ts'
import { type LostUpdate, ReadMemory } from '../../../src/engine/logic/data/read-memory.ts'
import { defaultOperationLimits } from '../../../src/engine/logic/operations/call.ts'
import { collection, integer, job, model, on, text } from '../../../src/index.ts'
import { LostUpdates } from '../../../src/server/serve/monitoring/lost-updates.ts'
import { testService } from '../../../src/testing.ts'
import { chosen } from '../../chosen.ts'
import { databaseKinds } from '../../engine/store/databases.ts'
import { type Fixture, handler, within } from './fixture.ts'

/** The tasks as one run reads and writes them, and what it is told. */
function tasksOf({ model: checked, run }: Fixture, maxAgeMs?: number) {
  const told: LostUpdate[] = []
  const reads = new ReadMemory(update => told.push(update), maxAgeMs)
  const execute = executeBy(run, defaultOperationLimits)
  const parts = { model: checked, hooks: new Map(), execute, reads }
  const open = (principal = system) => createData(parts, principal)['tasks'] as CollectionData
  return { tasks: open(), open, told, reads }
}

for (const kind of chosen(databaseKinds)) {
  describe(`lost updates on ${kind.name}`, () => {
    it('a change of a field that others have changed since the read is told, and made', () =>
      within(kind, {}, async fixture => {
        const { client, task } = fixture
        const id = await task('a')
        for (const read of [
          (tasks: CollectionData) => tasks.get(id),
          (tasks: CollectionData) => tasks.list({ fields: ['id', 'n'] }),
          (tasks: CollectionData) => tasks.first({ where: { id } }),
          async (tasks: CollectionData) => {
            for await (const _ of tasks.all());
          },
        ]) {
          await client.update('tasks', id, { n: 0 })
          const { tasks, told } = tasksOf(fixture)
          await read(tasks)
          await client.update('tasks', id, { n: 7 })
          await tasks.update(id, { n: 1 })
          assert.deepEqual(told, [{ collection: 'tasks', id, fields: ['n'] }])
          // Its own change is no longer that of others.
          await tasks.update(id, { n: 2 })
          assert.equal(told.length, 1)
          assert.equal((await tasks.get(id))?.['n'], 2)
        }
      })())

    it('nothing is told of other fields, increments, refused changes and what was not read', () =>
      within(kind, {}, async fixture => {
        const { client, task } = fixture
        const id = await task('a')
        const { tasks, open, told, reads } = tasksOf(fixture)
        const read = await tasks.get(id)
        assert.ok(read)
        await client.update('tasks', id, { n: 7 })
        await tasks.update(id, { n: { increment: 1 } })
        await client.update('tasks', id, { title: 'b' })
        await tasks.update(id, { n: 1 })
        await tasks.get(id)
        await client.update('tasks', id, { n: 9 })
        await assert.rejects(tasks.update(id, { n: 1 }, { ifMatch: read }), { code: 'PRECONDITION_FAILED' })
        await assert.rejects(tasks.update(id, { n: 'x' }), { code: 'VALIDATION_FAILED' })
        reads.clear()
        await tasks.update(id, { n: 3 })
        // Another reader: rules may show it other values.
        await tasks.get(id)
        await client.update('tasks', id, { n: 4 })
        await open(user(1, 'admin', 'all')).update(id, { n: 5 })
        const late = tasksOf(fixture, -1)
        await late.tasks.get(id)
        await client.update('tasks', id, { n: 6 })
        await late.tasks.update(id, { n: 5 })
        assert.deepEqual([told, late.told], [[], []])
      })())

    it('a deletion of an item that has changed is told', () =>
      within(kind, {}, async fixture => {
        const { client, task } = fixture
        const [id, other] = [await task('a'), await task('b')]
        const { tasks, told } = tasksOf(fixture)
        await tasks.list()
        await client.update('tasks', id, { title: 'c' })
        await tasks.delete(other)
        await tasks.delete(id)
        assert.deepEqual(told, [{ collection: 'tasks', id, fields: undefined }])
        assert.deepEqual(await tasks.list(), [])
      })())

    it('a run is told of its lost updates, not of those that its transaction prevents', () =>
      within(
        kind,
        {
          reactions: {
            counted: on(
              'task.created',
              handler(async ({ event, data }) => {
                await data['tasks']?.get(event.item_id)
                await meanwhile(event.item_id)
                await data['tasks']?.update(event.item_id, { n: 1 })
                await data['tasks']?.get(event.item_id)
                await data.transaction(async inner => {
                  const task = await inner['tasks']?.get(event.item_id)
                  await inner['tasks']?.update(event.item_id, { n: Number(task?.['n']) + 1 })
                })
                await data['tasks']?.update(event.item_id, { n: 5 })
              }),
            ),
          },
        },
        async fixture => {
          const { client, task, runner } = fixture
          meanwhile = async id => void (await client.update('tasks', id, { n: 7 }))
          const told: unknown[] = []
          const node = runner({ onLostUpdate: (place, update) => void told.push([place, update]) })
          const id = await task('a')
          await node.settled()
          assert.deepEqual(told, [['reactions.counted', { collection: 'tasks', id, fields: ['n'] }]])
        },
      )())
  })
}

/** What others do between the read and the write of a run. */
let meanwhile: (id: number) => Promise<void> = async () => undefined

test('at most 1,000 items are remembered, without documents and long texts', () => {
  const told: LostUpdate[] = []
  const memory = new ReadMemory(update => told.push(update))
  const fields = new Map(['id', 'n', 'text', 'document'].map(name => [name, {}]))
  const tasks = { name: 'tasks', fields } as never
  for (let id = 1; id <= 1001; id++)
    memory.add(tasks, system, { id, n: id, text: 'x'.repeat(201), document: [1], computed: 2 })
  assert.equal(memory.valuesOf(tasks, system, 1), undefined)
  assert.deepEqual(memory.valuesOf(tasks, system, 2), { n: 2 })
  assert.deepEqual(memory.valuesOf(tasks, system, 1001), { n: 1001 })
  assert.equal(memory.valuesOf(tasks, system, 2, ['text']), undefined)
})

test('one line a minute is logged for each place and collection, with the number of those that it stands for', () => {
  const lines: unknown[] = []
  let now = 0
  const updates = new LostUpdates({ warn: (fields: object) => lines.push(fields) } as never, () => now)
  const report = (place: string, id: number) =>
    updates.report(place, { collection: 'tasks', id, fields: ['n'] })
  for (let id = 1; id <= 3; id++) report('jobs.a', id)
  report('jobs.b', 4)
  now = 60_000
  report('jobs.a', 5)
  assert.deepEqual(lines, [
    { place: 'jobs.a', collection: 'tasks', item: 1, fields: ['n'] },
    { place: 'jobs.b', collection: 'tasks', item: 4, fields: ['n'] },
    { place: 'jobs.a', collection: 'tasks', item: 5, fields: ['n'], more: 2 },
  ])
  assert.equal(updates.count, 5)
})

test('jobs and programs that lose updates are counted in the metrics', async () => {
  const counted = model(
    { counters: collection({ fields: { n: integer({ default: 0 }), name: text({ optional: true }) } }) },
    {
      jobs: {
        count: job({
          input: { id: integer() },
          run: async ({ input, data }) => {
            const counter = await data.counters.get(input.id)
            await bothHaveRead()
            await data.counters.update(input.id, { n: Number(counter?.n) + 1 })
          },
        }),
      },
    },
  )
  let waiting = 0
  const { promise: both, resolve } = Promise.withResolvers<void>()
  const bothHaveRead = () => {
    waiting++
    if (waiting === 2) resolve()
    return both
  }
  const service = await testService(counted, { settings: { logLevel: 'error' } })
  try {
    const { counters } = service.asSystem
    const { id } = await counters.create({})
    await service.asSystem.transaction(async (_, { later }) => {
      for (let n = 0; n < 2; n++) later('2020-01-01T00:00:00Z', 'count', { id })
    })
    await service.settled()
    assert.equal((await counters.get(id))?.n, 1)
    const { text: metrics } = await service.request('GET /metrics')
    assert.match(metrics, /^portico_lost_updates_total(?:\{[^}]*\})? 1$/m)
  } finally {
    await service.close()
  }
})
