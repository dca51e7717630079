/** What the adviser says of slow lists, word for word, and that following it makes them fast: on both databases. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { Call } from '../../src/call.ts'
import { createEngine } from '../../src/graphql/create-engine.ts'
import {
  anyone,
  choice,
  collection,
  index,
  integer,
  model,
  owner,
  relation,
  role,
  string,
  text,
} from '../../src/index.ts'
import type { IndexDeclaration } from '../../src/model/declaration.ts'
import { checkModel } from '../../src/model/check.ts'
import type { Model } from '../../src/model/model.ts'
import { createGuard } from '../../src/plan/guard.ts'
import { user } from '../../src/principal.ts'
import { createRest } from '../../src/rest/rest.ts'
import { createRun } from '../../src/serve/store.ts'
import type { SlowList } from '../../src/store/advice/slow.ts'
import type { Store } from '../../src/store/store.ts'
import { databases, type Place, type TestDatabase } from './databases.ts'

interface Declared {
  readonly posts?: readonly IndexDeclaration[]
  readonly writers?: readonly IndexDeclaration[]
}

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

/** `indexes`: what somebody who followed the advice has declared. */
function modelWith(indexes: Declared = {}): Model {
  return checkModel(
    model({
      writers: collection({ fields: { name: string(), city: string() }, access, indexes: indexes.writers ?? [] }),
      posts: collection({
        fields: {
          title: string({ searchable: true }),
          body: text({ optional: true }),
          source: string(),
          status: choice(['draft', 'open', 'closed']),
          score: integer(),
          note: string({ optional: true, access: { read: owner('user_id').or(role('admin')) } }),
          user_id: relation('users', { optional: true }),
          writer_id: relation('writers', { inverse: 'posts' }),
        },
        access,
        indexes: indexes.posts ?? [],
      }),
    }),
  )
}

const postCount = 5_000

/** Ten writers with 2,000 posts each; every post of another source and score, none closed. */
function fill({ name }: TestDatabase, place: Place): Promise<void> {
  const [series, id] = name === 'SQLite' ? ['json_each(?)', 'value'] : ['generate_series', 'n']
  assert.ok(series && id)
  const numbers = (count: number) =>
    name === 'SQLite'
      ? `(WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${count}) SELECT n FROM c) AS c`
      : `generate_series(1, ${count}) AS c(n)`
  const at = name === 'SQLite' ? `'2026-01-01T00:00:00.000Z'` : `'2026-01-01T00:00:00.000Z'`
  return place.run(`
    INSERT INTO "users" ("name", "email", "role", "created_at") VALUES ('Ann', 'ann@example.com', 'user', ${at});
    INSERT INTO "writers" ("name", "city", "created_at") SELECT 'p' || n, 'c' || n, ${at} FROM ${numbers(4)};
    INSERT INTO "posts" ("title", "source", "status", "score", "writer_id", "created_at")
      SELECT 'title ' || (n * 7919 % ${postCount}), 's' || n, CASE n % 2 WHEN 0 THEN 'draft' ELSE 'open' END, n * 31 % ${postCount}, 1 + n % 4, ${at} FROM ${numbers(postCount)};
    ${name === 'SQLite' ? '' : `INSERT INTO "_totals" ("collection", "slot", "n") VALUES ('users', 0, 1), ('writers', 0, 4), ('posts', 0, ${postCount});`}
    ANALYZE;`)
}

/** Requests of one caller to a store, without HTTP. */
function transports(model: Model, store: Store) {
  const run = createRun(createGuard(model), store)
  const rest = createRest({ model, run, hooks: new Map(), baseUrl: undefined })
  const engine = createEngine({ model, run, hooks: new Map() })
  const principal = user(1, 'user', 'all')
  const get = async (url: string): Promise<unknown> => {
    const [path = '', query = ''] = `/api/v1${url}`.split('?')
    const call: Call = {
      method: 'GET',
      url,
      path,
      query,
      headers: {},
      address: '192.0.2.1',
      requestId: 'r',
      body: Buffer.alloc(0),
    }
    await store.refresh()
    const { status, body } = await rest(call, principal)
    assert.equal(status, 200, String(body))
    return JSON.parse(String(body)).data
  }
  const graphql = async (source: string): Promise<unknown> => {
    await store.refresh()
    const prepared = engine.prepare(source, undefined)
    assert.ok(prepared.outcome === 'prepared', 'text' in prepared ? prepared.text : '')
    const bound = engine.bind(prepared, undefined)
    assert.ok(bound.outcome === 'bound', 'text' in bound ? bound.text : '')
    const context = { rateLimit: undefined, onFault: (error: unknown) => assert.fail(String(error)) }
    const { text } = await engine.execute(bound, principal, context)
    return JSON.parse(text)
  }
  return { ask: (request: string) => (request.startsWith('{') ? graphql(request) : get(request)) }
}

for (const database of databases.slice(0, 2)) {
  test(`${database.name}: probe`, () =>
    database.within(async place => {
      const declared = modelWith()
      await (await place.open(declared)).close()
      await fill(database, place)
      const told: SlowList[] = []
      const store = await place.open(declared, { queries: { onSlow: slow => told.push(slow) } })
      const { ask } = transports(declared, store)
      for (const request of [
        '/posts?sort=title',
        '/posts?source=s5&sort=-created_at',
        '/writers/1/posts?sort=-title',
        '/posts?title[contains]=xyz',
        '/posts?sort=note',
        '{ writers(limit: 10) { posts(limit: 5, orderBy: [TITLE_ASC]) { id } } }',
        '{ posts(filter: { or: [{ source: { eq: "x" } }, { title: { eq: "y" } }] }, orderBy: [CREATED_AT_DESC]) { id } }',
        '/posts?page=200',
        '/posts?q=title&sort=score',
        '{ posts(filter: { writer: { city: { eq: "c3" } } }, orderBy: [SCORE_DESC]) { id } }',
        '/posts?status[ne]=open&source[ne]=s9&sort=-score',
        '/posts?status=closed',
        '/posts?score[gte]=10000',
        '/posts?sort=-created_at,id',
        '/posts?sort=-created_at',
        '/posts?source[null]=true',
      ]) {
        await ask(request)
        await new Promise(resolve => setTimeout(resolve, 150))
        console.log(request, '\n   ', told.splice(0).map(({ request, looked, given, does, advice, indexes }) => `${request} | ${does} | ${looked}/${given} ${indexes}\n        ${advice}`).join('\n    '))
      }
      await store.close()
    }))
}
