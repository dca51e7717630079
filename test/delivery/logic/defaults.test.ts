/** Defaults in the outputs of actions, the inputs of jobs and emitted events. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  action,
  anyone,
  collection,
  datetime,
  integer,
  job,
  model,
  now,
  randomUuid,
  signedIn,
  string,
  users,
  uuid,
} from '../../../src/index.ts'
import { testService } from '../../../src/testing.ts'

const started: unknown[] = []
const values = {
  at: datetime({ default: now }),
  key: uuid({ default: randomUuid }),
  count: integer({ default: 3 }),
  note: string({ optional: true, default: 'none' }),
}

const declaration = model(
  {
    users: users({}),
    tasks: collection({ fields: { title: string() }, access: { read: anyone, create: anyone } }),
  },
  {
    actions: {
      empty: action({ output: values, access: signedIn, run: () => ({}) as never }),
      cleared: action({ output: values, access: signedIn, run: () => ({ note: null }) as never }),
      emits: action({
        input: { task: integer() },
        access: signedIn,
        emits: { 'task.noted': { fields: values } },
        run: async ({ input, emit }) => {
          await emit('task.noted', input.task as never, { count: 1 } as never)
        },
      }),
      starts: action({
        access: signedIn,
        run: async ({ later, now: runAt }) => {
          await (later as (runAt: string, name: string) => Promise<void>)(runAt, 'noted')
        },
      }),
    },
    jobs: { noted: job({ input: values, run: ({ input }) => void started.push(input) }) },
  },
)

const time = '2026-01-01T00:00:00.000Z'
const uuidForm = /^[0-9a-f]{8}-[0-9a-f-]{27}$/

function checkDefaults(actual: unknown, expected: object = {}): void {
  const { key, ...rest } = actual as { readonly key: string }
  assert.match(key, uuidForm)
  assert.deepEqual({ ...rest }, { at: time, count: 3, note: 'none', ...expected })
}

test('defaults are set in outputs, inputs of jobs and emitted events, and do not replace null', async () => {
  const service = await testService(declaration, { now: time })
  const ann = await service.users.create()
  const post = (name: string, body: object = {}) =>
    service.request(`POST /api/v1/actions/${name}`, { as: ann, body })
  checkDefaults((await post('empty')).body)
  checkDefaults((await post('cleared')).body, { note: null })

  const task = await service.asSystem.tasks.create({ title: 'one' })
  const { body: before } = await service.request('GET /api/v1/events?after=0', { as: ann })
  assert.equal((await post('emits', { task: task.id })).status, 204)
  const { body } = await service.request(`GET /api/v1/events?after=${before.meta.next_after}`, { as: ann })
  checkDefaults(body.data[0].values, { count: 1 })

  assert.equal((await post('starts')).status, 204)
  await service.settled()
  assert.equal(started.length, 1)
  checkDefaults(started[0])
  await service.close()
})
