/** Slow lists on a small database, each with the advice for it. */
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
} from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import type { IndexDeclaration } from '../../../../src/model/declaration.ts'
import type { Model } from '../../../../src/model/model.ts'
import type { DatabaseKind, TestDatabase } from '../databases.ts'

interface Indexes {
  readonly posts?: readonly IndexDeclaration[]
  readonly writers?: readonly IndexDeclaration[]
}

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

/**
 * `indexes`: those that the advice asks for. `searchable`: if rows are written without it, the first start with it adds
 * them to the search index.
 */
export function modelWith(indexes: Indexes = {}, searchable = true): Model {
  return checkModel(
    model({
      writers: collection({
        fields: { name: string(), city: string() },
        access,
        indexes: indexes.writers ?? [],
      }),
      posts: collection({
        fields: {
          title: string({ searchable }),
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

const postCount = 5000

/** Four writers with 1,250 posts each. No two posts share a source or a score, and no post is closed. */
export function fill({ name }: DatabaseKind, database: TestDatabase): Promise<void> {
  const isSqlite = name === 'SQLite'
  const numbers = (count: number) =>
    isSqlite
      ? `(WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${count}) SELECT n FROM c) AS c`
      : `generate_series(1, ${count}) AS c(n)`
  const createdAt = `'2026-01-01T00:00:00.000Z'`
  const title = `'title ' || (n * 7919 % ${postCount})`
  const score = `n * 31 % ${postCount}`
  // On PostgreSQL, Portico maintains the totals as it writes, so rows inserted directly need them here.
  const totals = `INSERT INTO "_totals" ("collection", "slot", "n") VALUES ('users', 0, 1), ('writers', 0, 4), ('posts', 0, ${postCount});`
  return database.run(`
    INSERT INTO "users" ("name", "email", "role", "created_at") VALUES ('Ann', 'ann@example.com', 'user', ${createdAt});
    INSERT INTO "writers" ("name", "city", "created_at") SELECT 'w' || n, 'c' || n, ${createdAt} FROM ${numbers(4)};
    INSERT INTO "posts" ("title", "source", "status", "score", "writer_id", "created_at")
      SELECT ${title}, 's' || n, CASE n % 2 WHEN 0 THEN 'draft' ELSE 'open' END, ${score}, 1 + n % 4, ${createdAt}
      FROM ${numbers(postCount)};
    ${isSqlite ? '' : totals}
    ANALYZE;`)
}

export interface SlowCase {
  /** A path below `/api/v1`, or a GraphQL document. */
  readonly ask: string
  readonly request: string
  readonly advice: string
  /** The request that the advice recommends where no index helps; null: nothing makes it fast. */
  readonly alternative?: string | null
}

const add = (declared: string) => `In collection \`posts\`, add \`${declared}\`.`

export const slowCases: readonly SlowCase[] = [
  { ask: '/posts?sort=title', request: 'GET /posts?sort=title', advice: add("index('title')") },
  {
    ask: '/posts?source=s5&sort=-score',
    request: 'GET /posts?source=…&sort=-score',
    advice: add("index('source', '-score')"),
  },
  {
    ask: '/writers/1/posts?sort=-title',
    request: 'GET /writers/…/posts?sort=-title',
    advice: add("index('writer_id', '-title')"),
  },
  {
    ask: '/posts/aggregate?source[eq]=s5&group_by=writer_id&count&max=score',
    request: 'GET /posts/aggregate?source=…&group_by=writer_id&count&max=score',
    advice: add("index('source', 'writer_id')"),
  },
  { ask: '/posts?status=closed', request: 'GET /posts?status=…', advice: add("index('status')") },
  {
    ask: '/posts?score[gte]=100000',
    request: 'GET /posts?score[gte]=…',
    advice:
      "In collection `posts`, add `index('score')`, and request `sort=score`, because one index cannot return a range in the order of ids.",
    alternative: '/posts?score[gte]=100000&sort=score',
  },
  {
    ask: '{ writers(limit: 4) { posts(limit: 5, orderBy: [TITLE_ASC, SCORE_DESC]) { id } } }',
    request: 'GraphQL /writers/…/posts?sort=title,-score',
    advice: add("index('writer_id', 'title', '-score')"),
  },
  {
    ask: '/posts?body[contains]=xyz',
    request: 'GET /posts?body[contains]=…',
    advice:
      'No index serves `body[contains]`, which reads every text: declare `body` with `searchable: true` and request `?q=`.',
    alternative: '/posts?q=xyz',
  },
  {
    ask: '/posts?sort=-note',
    request: 'GET /posts?sort=-note',
    advice:
      'No index gives the order of `note`: in some rows of `posts` its read rule hides it, and there it is sorted as null. Sort by a field that every reader of the row can read.',
    alternative: '/posts?sort=-created_at',
  },
  {
    ask: '{ posts(filter: { or: [{ source: { eq: "x" } }, { body: { eq: "y" } }] }, orderBy: [CREATED_AT_DESC]) { id } }',
    request: 'GraphQL /posts?or(source=…,body=…)&sort=-created_at',
    advice:
      'No index serves an `or` together with an order: request one list for each alternative, or use `in`.',
    alternative: '{ posts(filter: { source: { eq: "x" } }, orderBy: [SCORE_DESC]) { id } }',
  },
  {
    ask: '{ posts(filter: { writer: { city: { eq: "nowhere" } } }) { id } }',
    request: 'GraphQL /posts?writer.city=…',
    advice:
      "The filter along `writer` tests each row of `posts`: in collection `writers`, add `index('city')`, request the items of `writers` first, and filter by their ids.",
    alternative: '{ posts(filter: { writerId: { eq: "3" } }, orderBy: [TITLE_ASC, SCORE_DESC]) { id } }',
  },
  {
    ask: '/posts?page=200',
    request: 'GET /posts?page=…',
    advice: 'A deep `page` reads all rows before it: follow `cursor` instead.',
    alternative: '/posts?cursor=',
  },
  {
    ask: '/posts?q=title&sort=score',
    request: 'GET /posts?q=…&sort=score',
    advice: 'A search sorted by `score` reads every match: sort it by `id`, or search for rarer words.',
    alternative: null,
  },
]

/** All indexes that the cases recommend. */
export const recommendedIndexes: Indexes = {
  posts: [
    index('title'),
    index('source', '-score'),
    index('writer_id', '-title'),
    index('status'),
    index('score'),
    index('writer_id', 'title', '-score'),
  ],
  writers: [index('city')],
}
