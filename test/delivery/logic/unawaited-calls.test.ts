/** Calls that a reaction or a job does not await. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anyone, collection, integer, job, model, on, string, users } from '../../../src/index.ts'
import { testService } from '../../../src/testing.ts'

const declaration = model(
  {
    users: users({}),
    tasks: collection({
      fields: { title: string(), kind: string() },
      access: { read: anyone, create: anyone },
    }),
  },
  {
    reactions: {
      handles: on('task.created', ({ event, data, mail, later, now }) => {
        const { item_id: id } = event
        const { kind } = event.data as { readonly kind: string }
        if (kind === 'writes') void data.tasks.update(id, { title: 'written' })
        if (kind === 'mails') void mail.send({ to: 'ann@example.com', subject: 'A task', text: 'New.' })
        if (kind === 'fails') void data.tasks.update(id + 1000, { title: 'x' })
        if (kind === 'in_turn') {
          void (async () => {
            for (const title of ['a', 'ab', 'abc']) await data.tasks.update(id, { title })
          })()
        }
        if (kind === 'starts')
          (later as (runAt: string, name: string, input: object) => void)(now, 'renames', { task: id })
      }),
    },
    jobs: {
      renames: job({
        input: { task: integer() },
        run: ({ input, data }) => {
          void data.tasks.update(input.task, { title: 'renamed' })
        },
      }),
    },
  },
)

async function titleAfter(kind: string) {
  const service = await testService(declaration, { settings: { logLevel: 'silent' } })
  const { id } = await service.asSystem.tasks.create({ title: 'new', kind })
  await service.settled()
  const admin = await service.users.create({ role: 'admin' })
  const { body } = await service.request('GET /api/v1/events/runs', { as: admin })
  const errors = body.data.map(({ error }: { readonly error: string }) => error)
  const title = (await service.asSystem.tasks.get(id))?.title
  const mails = service.mails.length
  await service.close()
  return { title, errors, mails }
}

test('an unawaited write completes before its run succeeds', async () => {
  assert.deepEqual(await titleAfter('writes'), { title: 'written', errors: [], mails: 0 })
  assert.deepEqual(await titleAfter('in_turn'), { title: 'abc', errors: [], mails: 0 })
  assert.deepEqual(await titleAfter('starts'), { title: 'renamed', errors: [], mails: 0 })
})

test('an unawaited mail is sent before its run succeeds', async () => {
  assert.deepEqual(await titleAfter('mails'), { title: 'new', errors: [], mails: 1 })
})

test('a run fails and is retried if an unawaited call fails', async () => {
  const { errors } = await titleAfter('fails')
  assert.equal(errors.length, 1)
  assert.match(errors[0], /There is nothing here/)
})
