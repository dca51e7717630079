/**
 * Two services that differ only in data hidden from the caller must return the same responses,
 * byte by byte. Any difference would reveal something.
 */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { Collection } from '../../../src/model/model.ts'
import { caseCount, isWhole, sampled } from '../../cases.ts'
import type { Data } from '../../engine/plan/reference.ts'
import type { Fixture } from '../../identity/conformance/server.ts'
import { type Context, defaultSecrets, model, people, type Secrets } from './context.ts'
import { queries, schemaOf } from './graphql.ts'
import { request } from './request.ts'
import { withContext } from './service.ts'

const otherSecrets: Secrets = {
  phone: '+9 999',
  budget: 999,
  passphrase: 'wrong donkey',
  ticket: 'T-9',
  text: 'second words',
}

/** Gives both services the same times and random values. */
function equalize(file: string): void {
  const database = new DatabaseSync(file)
  const createdAt = '2026-01-01T00:00:00.000Z'
  for (const { name, fields } of model.collections.values()) {
    database.prepare(`UPDATE "${name}" SET created_at = ?`).run(createdAt)
    if (fields.has('updated_at')) database.prepare(`UPDATE "${name}" SET updated_at = ?`).run(createdAt)
  }
  database.exec(`
    UPDATE tasks SET seen_at = '${createdAt}', reference = '00000000-0000-4000-8000-00000000000' || id;
    UPDATE api_keys SET prefix = 'pk_' || id`)
  database.close()
}

interface Question {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

const secretValues = [defaultSecrets, otherSecrets].flatMap(secrets => Object.values(secrets).map(String))

/** The secret in the fields of a name. Text may be in any field. */
const secretIn: Readonly<Record<string, keyof Secrets>> = {
  phone: 'phone',
  budget: 'budget',
  weight: 'budget',
  passphrase: 'passphrase',
  ticket: 'ticket',
}

/** What a field is compared with: both texts and both values of its own secret; those of other fields in the whole matrix. */
function valuesFor(field: string): readonly string[] {
  if (isWhole) return secretValues
  const names = new Set<keyof Secrets>(['text', secretIn[field] ?? 'text'])
  return [defaultSecrets, otherSecrets].flatMap(secrets => [...names].map(name => String(secrets[name])))
}

function listQuestions(collection: Collection): string[] {
  const names = [...collection.fields.keys(), 'no_such_field']
  const relations = [...collection.relations.keys()]
  return [
    '',
    'cursor=',
    ...names.flatMap(name => [
      `fields=id,${name}`,
      `sort=${name}`,
      `sort=-${name}&per_page=1`,
      `sort=${name}&cursor=&per_page=2`,
      `${name}[null]=true`,
      `${name}[null]=false`,
      ...valuesFor(name).flatMap(value => {
        const text = encodeURIComponent(value)
        return [`${name}=${text}`, `${name}[ne]=${text}`, `${name}[gte]=${text}`, `${name}[contains]=${text}`]
      }),
    ]),
    ...relations.flatMap(relation => [`include=${relation}`, `include=${relation}&fields=id`]),
    ...secretValues.map(value => `q=${encodeURIComponent(value)}`),
    'q=secret OR words',
  ]
}

const ids = [1, 2, 3, 4, 5, 6, 4_000_000]

/** Reads, and writes that must be refused, since an allowed one would change later responses. */
function questions(collection: Collection, refused: boolean): Question[] {
  const path = `/api/v1/${collection.name}`
  const relations = [...collection.relations.keys()]
  const reads = [
    ...listQuestions(collection).map(query => `${path}?${query}`),
    ...ids.flatMap(id => [
      `${path}/${id}`,
      ...relations.flatMap(relation => [`${path}/${id}/${relation}`, `${path}/${id}?include=${relation}`]),
    ]),
  ].map(path => ({ method: 'GET', path }))
  if (!refused) return reads
  const writes = ids.flatMap(id => [
    { method: 'DELETE', path: `${path}/${id}`, headers: { 'If-Match': '"no"' } },
    { method: 'PATCH', path: `${path}/${id}`, body: { no_such_field: 1 } },
    { method: 'PATCH', path: `${path}/${id}`, body: {}, headers: { 'If-Match': '"no"' } },
  ])
  return [...reads, ...reads.slice(0, 3).map(request => ({ ...request, method: 'HEAD' })), ...writes]
}

const varyingHeaders = new Set(['date', 'x-request-id', 'keep-alive', 'x-ratelimit-reset', 'ratelimit'])

interface Side {
  readonly fixture: Fixture
  readonly context: Context
}

async function send({ fixture }: Side, { method, path, body, headers }: Question, key: string | undefined) {
  const credential = key === undefined ? {} : { Authorization: `Bearer ${key}` }
  const answer = await request(fixture.url + path, method, { ...credential, ...headers }, body)
  const stableHeaders = Object.entries(answer.headers).filter(([name]) => !varyingHeaders.has(name))
  const withoutAddress = (text: string) => text.replaceAll(fixture.url, '')
  const { status, text } = answer
  return { status, headers: withoutAddress(JSON.stringify(stableHeaders)), text: withoutAddress(text) }
}

type Who = (fixture: Fixture) => string | undefined

/** Compares the responses of both services; returns their status. */
async function compareResponses(
  [first, second]: readonly [Side, Side],
  question: Question,
  who: Who,
): Promise<number> {
  const [a, b] = [
    await send(first, question, who(first.fixture)),
    await send(second, question, who(second.fixture)),
  ]
  const details = `${question.method} ${question.path} ${JSON.stringify(question.body ?? '')}\n${a.text}\n${b.text}`
  assert.equal(a.status, b.status, details)
  assert.equal(a.text, b.text, details)
  assert.equal(a.headers, b.headers, details)
  assert.ok(a.status < 500, details)
  const refusal = a.status >= 400 && /"(message|details)"/.test(a.text)
  // A refusal may repeat the value that was sent.
  if (!refusal)
    for (const value of [defaultSecrets.text, otherSecrets.text]) assert.ok(!a.text.includes(value), details)
  return a.status
}

async function withTwoServices(
  secrets: Secrets,
  use: (sides: readonly [Side, Side]) => Promise<void>,
): Promise<void> {
  await withContext(async (fixture, context) => {
    equalize(fixture.deployment.database)
    await withContext(async (otherFixture, otherContext) => {
      equalize(otherFixture.deployment.database)
      await use([
        { fixture, context },
        { fixture: otherFixture, context: otherContext },
      ])
    }, secrets)
  })
}

async function differingFields([first, second]: readonly [Side, Side]): Promise<string[]> {
  const [a, b] = [await first.context.snapshot(), await second.context.snapshot()]
  return Object.keys(a).flatMap(name => {
    const pairs = (a[name] ?? []).flatMap((row, index) =>
      Object.keys(row).filter(key => row[key] !== b[name]?.[index]?.[key] && typeof row[key] !== 'object'),
    )
    return [...new Set(pairs)].map(field => `${name}.${field}`)
  })
}

async function compareEverything(
  sides: readonly [Side, Side],
  who: Who,
  counts: Map<number, number>,
): Promise<void> {
  const schema = schemaOf()
  const data: Data = await sides[0].context.snapshot()
  for (const collection of model.collections.values()) {
    const all: Question[] = [...questions(collection, true)]
    for (const { source, variables } of queries(schema, collection, data))
      all.push({ method: 'POST', path: '/graphql', body: { query: source, variables } })
    for (const question of sampled(all)) {
      const status = await compareResponses(sides, question, who)
      counts.set(status, (counts.get(status) ?? 0) + 1)
    }
  }
}

test('no response reveals the hidden rows of others', async t => {
  await withTwoServices(otherSecrets, async sides => {
    const differences = await differingFields(sides)
    for (const field of [
      'users.phone',
      'projects.budget',
      'tasks.notes',
      'notices.title',
      'audits.subject',
      'contacts.passphrase',
      'tasks.ticket',
    ])
      assert.ok(differences.includes(field), `${field} differs: ${differences}`)
    const counts = new Map<number, number>()
    for (const who of [() => undefined, ({ ben }: Fixture) => ben.key] satisfies Who[])
      await compareEverything(sides, who, counts)
    t.diagnostic(JSON.stringify([...counts]))
    for (const status of [200, 400, 401, 404])
      assert.ok((counts.get(status) ?? 0) > caseCount(20, 10), `${status}`)
  })
})

test('no response reveals write-only or internal fields, even to an administrator', async () => {
  const { passphrase, ticket } = otherSecrets
  await withTwoServices({ ...defaultSecrets, passphrase, ticket }, async sides => {
    assert.deepEqual((await differingFields(sides)).filter(field => !/hash/.test(field)).sort(), [
      'contacts.passphrase',
      'tasks.ticket',
    ])
    const admin: Who = fixture => fixture.admin.key
    for (const collection of ['contacts', 'tasks', 'projects', 'users'].flatMap(
      name => model.collections.get(name) ?? [],
    )) {
      for (const question of sampled(questions(collection, false))) {
        const [first, second] = sides
        const [a, b] = [
          await send(first, question, admin(first.fixture)),
          await send(second, question, admin(second.fixture)),
        ]
        assert.deepEqual(a, b, question.path)
      }
    }
  })
})

test('an entity tag changes only with what the response shows', async () => {
  await withContext(async ({ url, ben }, context) => {
    const tagOf = async (path: string) =>
      (await fetch(url + path, { headers: { Authorization: `Bearer ${ben.key}` } })).headers.get('etag')
    const before = await Promise.all(
      ['/api/v1/users/1', '/api/v1/users', '/api/v1/notices', '/api/v1/projects/1'].map(tagOf),
    )
    assert.ok(before.every(tag => tag !== null))
    // Keeps the times of the rows: only values hidden from Ben change.
    const { updated_at: updatedAt } = (await context.snapshot()).users?.[0] ?? {}
    await context.update('users', people.root, { phone: '+5 555', updated_at: updatedAt ?? null })
    await context.insert('notices', { title: 'unseen', published_at: null, audience: 'all' })
    const after = await Promise.all(
      ['/api/v1/users/1', '/api/v1/users', '/api/v1/notices', '/api/v1/projects/1'].map(tagOf),
    )
    assert.equal(after[2], before[2])
    assert.equal(after[3], before[3])
    const { updated_at: now } = (await context.snapshot()).users?.[0] ?? {}
    // The change of a row may be visible where its updated_at is.
    assert.equal(after[0] === before[0], updatedAt === now)
  })
})
