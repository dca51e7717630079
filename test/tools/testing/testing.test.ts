/** `portico/test`: a service in memory, with a clock and users controlled by the test. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { ApiError } from '../../../src/client.ts'
import {
  action,
  anyone,
  caller,
  collection,
  currentUser,
  datetime,
  every,
  field,
  integer,
  item,
  job,
  model,
  now,
  on,
  owner,
  query,
  relation,
  signedIn,
  string,
} from '../../../src/index.ts'
import { type TestService, testService } from '../../../src/testing.ts'
import { withPostgres } from '../../setups/databases/postgres.ts'

const seen: string[] = []

const notes = model(
  {
    notes: collection({
      fields: {
        title: string({ max: 40 }),
        noted_at: datetime({ default: now }),
        stamp: string({ optional: true }),
        author_id: relation('users', { inverse: 'notes', default: currentUser }),
      },
      prepare: ({ now }) => ({ stamp: now }),
      access: {
        read: anyone,
        create: owner('author_id'),
        update: owner('author_id').and(field('created_at').gte(now.minus({ minutes: 15 }))),
        delete: owner('author_id'),
      },
    }),
  },
  {
    actions: {
      sign: action({
        on: 'notes',
        input: { by: string({ max: 20 }) },
        output: item('notes'),
        access: owner('author_id'),
        run: ({ item: note, input, data, now }) =>
          data.notes.update(note.id, { title: `${input.by} ${now}` }),
      }),
      clear: action({
        of: 'notes',
        output: { removed: integer() },
        access: signedIn,
        async run({ caller, data }) {
          const mine = await data.notes.list({ where: { author_id: caller?.id ?? 0 } })
          for (const { id } of mine) await data.notes.delete(id)
          return { removed: mine.length }
        },
      }),
      later_on: action({
        access: signedIn,
        async run({ later, now }) {
          later(new Date(Date.parse(now) + 60_000), 'remind', { about: 'this' })
        },
      }),
    },
    queries: {
      titles: query({
        input: { contains: string({ max: 20, default: '' }), most: integer({ default: 10 }) },
        output: { found: integer(), most: integer() },
        access: signedIn,
        run: async ({ input, data }) => ({
          found: await data.notes.count({ title: { contains: input.contains } }),
          most: input.most,
        }),
      }),
    },
    reactions: {
      tell: on('note.created', async ({ event, data, mail }) => {
        if (event.data.title === 'echo') return
        await mail.send({ to: 'all@example.com', subject: event.data.title, text: 'A note.' })
        await data.notes.create({ title: 'echo', author_id: event.data.author_id })
      }),
    },
    jobs: {
      nightly: every('day at 03:00', async ({ now }) => void seen.push(now)),
      remind: job({
        input: { about: string({ max: 20 }) },
        run: async ({ input, mail }) =>
          mail.send({ to: 'a@example.com', subject: input.about, text: 'As asked.' }),
      }),
    },
  },
)

const start = '2026-05-04T09:00:00.000Z'

async function withNotes(
  use: (service: TestService<typeof notes>) => Promise<void>,
  settings = {},
): Promise<void> {
  const service = await testService(notes, { now: start, settings })
  try {
    await use(service)
  } finally {
    await service.close()
  }
}

async function followsClock(service: TestService<typeof notes>): Promise<void> {
  const ada = await service.users.create()
  const api = service.as(ada)
  const note = await api.notes.create({ title: 'One' })
  assert.deepEqual([note.created_at, note.noted_at, note.stamp], [start, start, start])
  service.clock.advance({ minutes: 15 })
  assert.equal(service.clock.now(), '2026-05-04T09:15:00.000Z')
  assert.equal((await api.notes.update(note.id, { title: 'Two' })).stamp, '2026-05-04T09:15:00.000Z')
  assert.equal((await api.notes.sign(note.id, { by: 'Ada' })).title, 'Ada 2026-05-04T09:15:00.000Z')
  service.clock.advance({ seconds: 1 })
  await assert.rejects(api.notes.update(note.id, { title: 'Three' }), { code: 'FORBIDDEN' })
  const patch = await service.request(`PATCH /api/v1/notes/${note.id}`, {
    as: ada,
    body: { title: 'Three' },
  })
  assert.deepEqual([patch.status, patch.body.error.code], [403, 'FORBIDDEN'])
  service.clock.set('2026-05-04T09:10:00Z')
  await api.notes.update(note.id, { title: 'Three' })
}

const clockTest = 'the clock stands still until the test sets it, for rules, defaults, logic and actions'
test(`${clockTest} (SQLite)`, () => withNotes(followsClock))
test(`${clockTest} (PostgreSQL)`, () => withPostgres(database => withNotes(followsClock, { database })))

test('an invalid time is refused', async () => {
  await withNotes(async ({ clock }) => {
    assert.throws(() => clock.set('yesterday'), RangeError)
    assert.throws(() => clock.advance({ days: Number.NaN }), RangeError)
    assert.equal(clock.now(), start)
  })
  await assert.rejects(testService(notes, { now: 'soon' }), RangeError)
})

test('clients have the collections, actions and queries of the model, and act as their user', async () => {
  await withNotes(async service => {
    const [ada, ben] = [await service.users.create({ name: 'Ada' }), await service.users.create()]
    const note = await service.as(ada).notes.create({ title: 'Mine' })
    assert.equal((await service.anonymous.notes.list()).data[0]?.title, 'Mine')
    await assert.rejects(service.anonymous.notes.create({ title: 'x' }), { code: 'UNAUTHORIZED' })
    await assert.rejects(service.as(ben).notes.sign(note.id, { by: 'Ben' }), { code: 'FORBIDDEN' })
    await assert.rejects(service.as(ben).notes.sign(99, { by: 'Ben' }), { code: 'NOT_FOUND' })
    await assert.rejects(service.as(ada).notes.sign(note.id, { by: 'x'.repeat(30) }), {
      code: 'VALIDATION_FAILED',
      details: [{ field: 'by', code: 'too_long', message: 'by must have at most 20 characters.' }],
    })
    assert.deepEqual(await service.as(ben).queries.titles({ contains: 'in', most: 3 }), { found: 1, most: 3 })
    assert.deepEqual(await service.as(ben).queries.titles(), { found: 1, most: 10 })
    assert.deepEqual(await service.as(ada).notes.clear(), { removed: 1 })
    await assert.rejects(service.as(99).notes.list(), { code: 'NOT_FOUND' })
    const walked: string[] = []
    for await (const { title } of service.as(ada).notes.all()) walked.push(title)
    assert.deepEqual(walked, [])
  })
})

test('a user has their current role', async () => {
  await withNotes(async service => {
    const ada = await service.users.create()
    const api = service.as(ada)
    const ben = await service.users.create()
    await assert.rejects(api.users.delete(ben.id), { code: 'FORBIDDEN' })
    await service.asSystem.users.update(ada.id, { role: 'admin' })
    await api.users.delete(ben.id)
    assert.equal(await api.users.get(ben.id), null)
  })
})

test('settled runs reactions, due jobs and the work that they cause', async () => {
  await withNotes(async service => {
    const ada = await service.users.create()
    await service.as(ada).notes.create({ title: 'One' })
    assert.equal(service.mails.length, 0)
    await service.settled()
    assert.deepEqual(
      service.mails.map(({ subject }) => subject),
      ['One'],
    )
    assert.equal(await service.asSystem.notes.count({ title: 'echo' }), 1)
    seen.length = 0
    service.clock.set('2026-05-05T02:59:59Z')
    await service.settled()
    assert.deepEqual(seen, [])
    service.clock.advance({ seconds: 1 })
    await service.settled()
    await service.settled()
    assert.deepEqual(seen, ['2026-05-05T03:00:00.000Z'])
    await service.as(ada).actions.later_on()
    await service.settled()
    assert.equal(service.mails.length, 1)
    service.clock.advance({ minutes: 1 })
    await service.settled()
    assert.equal(service.mails[1]?.subject, 'this')
  })
})

test('requests pass through the whole HTTP stack', async () => {
  await withNotes(async service => {
    const ada = await service.users.create()
    const created = await service.request('POST /api/v1/notes', { as: ada, body: { title: 'By HTTP' } })
    assert.deepEqual([created.status, created.headers.location], [201, '/api/v1/notes/1'])
    const broken = await service.request('POST /api/v1/notes', { as: ada.id, body: '{' })
    assert.deepEqual([broken.status, broken.body.error.code], [400, 'BAD_REQUEST'])
    const graphql = await service.request('POST /graphql', { body: { query: '{ notes { title } }' } })
    assert.deepEqual(graphql.body.data, { notes: [{ title: 'By HTTP' }] })
    const found = await service.request('GET /.well-known/openid-configuration')
    assert.equal(found.body.issuer, 'http://localhost:3000')
    assert.equal((await service.request('GET /account/sign-in')).body, undefined)
  })
})

test('services are independent, and leave no file', async () => {
  await withNotes(async service => {
    const ada = await service.users.create()
    await service.as(ada).notes.create({ title: 'One' })
    await withNotes(async otherService => {
      assert.equal(await otherService.asSystem.notes.count(), 0)
      await assert.rejects(otherService.as(ada).notes.list(), { code: 'NOT_FOUND' })
    })
    assert.equal(await service.asSystem.notes.count(), 1)
  })
  assert.ok(!existsSync(':memory:') && !existsSync(':memory:.key'))
})

test('a rule on the caller’s e-mail address requires that it is confirmed', async () => {
  const mine = model({
    letters: collection({
      fields: { to: string() },
      access: { read: field('to').eq(caller('email')) },
    }),
  })
  const service = await testService(mine)
  await service.asSystem.letters.create({ to: 'ada@example.com' })
  const claimed = await service.users.create({ email: 'ada@example.com' }, { confirmed: false })
  assert.equal(await service.as(claimed).letters.count(), 0)
  await service.asSystem.users.delete(claimed.id)
  const proven = await service.users.create({ email: 'ada@example.com' })
  assert.equal(await service.as(proven).letters.count(), 1)
  await service.close()
})

test('a request as a user who does not exist yet fails until the user is created', async () => {
  await withNotes(async service => {
    const { id } = await service.users.create()
    await assert.rejects(service.request('GET /api/v1/me', { as: id + 1 }))
    const later = await service.users.create()
    assert.equal(later.id, id + 1)
    assert.equal((await service.request('GET /api/v1/me', { as: later })).status, 200)
  })
})

test('a refused call says which rule refused it, and a request answers as in production', async () => {
  const service = await testService(notes)
  try {
    const ada = await service.users.create()
    const ben = await service.users.create()
    const { id } = await service.as(ada).notes.create({ title: 'hers' })
    const error: ApiError = await service
      .as(ben)
      .notes.update(id, { title: 'his' })
      .then(
        () => assert.fail('it was not refused'),
        cause => cause,
      )
    assert.equal(error.code, 'FORBIDDEN')
    assert.match(error.explain ?? '', /author_id/)
    const { status, body } = await service.request(`PATCH /api/v1/notes/${id}`, {
      as: ben,
      body: { title: 'his' },
    })
    assert.equal(status, 403)
    assert.deepEqual(Object.keys(body.error), ['code', 'message'])
  } finally {
    await service.close()
  }
})

test('users whose values do not fit the model are refused', async () => {
  const service = await testService(notes)
  try {
    await assert.rejects(service.users.create({ email: 'no address' }), {
      code: 'VALIDATION_FAILED',
      message: /^email must be an e-mail address/,
    })
  } finally {
    await service.close()
  }
})

test('names that the model does not have do not compile', async () => {
  await withNotes(async service => {
    const api = service.as(1)
    const calls = [
      // @ts-expect-error: no such collection
      () => api.nots.list(),
      // @ts-expect-error: no such field
      () => api.notes.list({ where: { titel: 'x' } }),
      // @ts-expect-error: `title` is missing
      () => api.notes.create({}),
      // @ts-expect-error: an input of another type
      () => api.notes.sign(1, { by: 3 }),
      // @ts-expect-error: no such query
      () => api.queries.title(),
      // @ts-expect-error: not an action of the collection
      () => api.notes.later_on(),
    ]
    for (const call of calls) await assert.rejects(async () => call())
  })
})

test('the failure of a reaction is printed, with the place of the error', async () => {
  const source = `
    import { collection, model, on, string } from '${new URL('../../../src/index.ts', import.meta.url)}'
    import { testService } from '${new URL('../../../src/testing.ts', import.meta.url)}'
    const declaration = model(
      { notes: collection({ fields: { title: string() } }) },
      { reactions: { failing: on('note.created', () => { throw new Error('not implemented') }) } },
    )
    const service = await testService(declaration)
    await service.asSystem.notes.create({ title: 'a' })
    await service.settled()
    await service.close()
  `
  const words = ['--conditions=portico-source', '--input-type=module-typescript', '--eval', source]
  const { stdout } = await promisify(execFile)(process.execPath, words)
  const lines = stdout.split('\n').filter(line => line !== '')
  assert.equal(lines.length, 1, stdout)
  const { msg, reaction, err } = JSON.parse(lines[0] ?? '')
  assert.deepEqual([msg, reaction], ['a reaction has failed', 'failing'])
  assert.match(err.stack, /^Error: not implemented\n +at /)
})
