/** The most common requests: W10 to W19 of docs/performance.md. Every request has other values than the ones before it. */
import { type DataSet, type ModelName, userCount } from '../data-set/data.ts'
import { commonStatus, commonWords, type Random, randomNumbers, rareWords } from '../data-set/posts.ts'
import type { Request } from '../load/load.ts'

export interface VariedWorkload {
  readonly name: string
  readonly description: string
  readonly clients: number
  readonly model: ModelName
  /** The content of Portico’s cache between requests. */
  readonly cacheContent: CacheContent
  /** Whether it is also measured with a million posts. */
  readonly big: boolean
  /** For requests that can be answered only once: the number of posts that the measurement needs. */
  readonly once?: { readonly posts: number; readonly seconds: number }
  readonly floor: VariedFloor
  /** `cursorAt`: the cursor after this id, in a list sorted by id. */
  requests(data: Pick<DataSet, 'rows'>, cursorAt: (id: number) => string): readonly Request[]
}

/** `totals`: those of lists, but no answers, as if no request was ever repeated. */
export type CacheContent = 'nothing' | 'totals' | 'answers'

/** A cache of one byte holds no answer. */
export const cacheSettings: Readonly<Record<CacheContent, Readonly<Record<string, string>>>> = {
  nothing: { PORTICO_CACHE_SIZE: '0 B' },
  totals: { PORTICO_CACHE_SIZE: '1 B' },
  answers: {},
}

/** The minimum ratios of requests per second that the project aims at. */
export interface VariedFloor {
  /** Relative to the hand-written server, on SQLite. */
  readonly ofLimit?: number
  /** Relative to the bare server, on SQLite. */
  readonly ofBaseline?: number
  /** Relative to the bare server, on PostgreSQL. */
  readonly postgres?: number
}

/** More than any server answers within a second, and few enough for the load generator. */
const maxRequests = 40_000
/** Pages have 1 to 39 items, 20 on average. */
const maxPerPage = 39

const get = (path: string): Request => ({ method: 'GET', path })
const randomInteger = (random: Random, below: number) => Math.floor(random() * below)

function shuffled<T>(values: T[], random: Random): T[] {
  for (let last = values.length - 1; last > 0; last--) {
    const other = randomInteger(random, last + 1)
    const [a, b] = [values[last], values[other]]
    if (a !== undefined && b !== undefined) [values[last], values[other]] = [b, a]
  }
  return values
}

/** Different requests in random order: each call of `make` gets another pair of numbers, below `first` and below `second`. */
function pairs(first: number, second: number, make: (a: number, b: number) => Request): readonly Request[] {
  const all = Array.from({ length: first * second }, (_, n) => n)
  const numbers = shuffled(all, randomNumbers(3)).slice(0, maxRequests)
  return numbers.map(n => make(Math.floor(n / second), n % second))
}

/** Pages 1 to `count` of a list, of varying sizes. */
function pages(query: string, count: number): readonly Request[] {
  return pairs(count, maxPerPage, (page, size) =>
    get(`/api/v1/posts?${query}&page=${page + 1}&per_page=${size + 1}`),
  )
}

const newestFirst = () => pages('sort=-created_at', 50)

const ofStatus = (total: 'exact' | 'estimate' | 'none') =>
  pages(`status=${commonStatus}&sort=-created_at&total=${total}`, 50)

const ofAuthors = () =>
  pairs(userCount, maxPerPage, (user, size) =>
    get(`/api/v1/posts?author_id=${user + 1}&sort=-created_at&include=author&per_page=${size + 1}`),
  )

const ofUsersByPage = () =>
  pairs(userCount, 2 * maxPerPage, (user, n) => {
    const [page, size] = [1 + Math.floor(n / maxPerPage), 1 + (n % maxPerPage)]
    return get(`/api/v1/users/${user + 1}/posts?page=${page}&per_page=${size}`)
  })

const cursorCount = 200

function ofUsersByCursor({ rows }: { readonly rows: number }, cursorAt: (id: number) => string) {
  return pairs(userCount, cursorCount, (user, n) => {
    const cursor = cursorAt(Math.floor((n * rows * 0.7) / cursorCount))
    return get(`/api/v1/users/${user + 1}/posts?cursor=${cursor}&per_page=20`)
  })
}

const rareWord = ({ rows }: { readonly rows: number }) =>
  pairs(rareWords(rows), 10, (word, size) => get(`/api/v1/posts?q=rare${word}&per_page=${size + 11}`))

const commonWord = () =>
  pairs(commonWords.length, 5 * maxPerPage, (word, n) => {
    const [page, size] = [1 + Math.floor(n / maxPerPage), 1 + (n % maxPerPage)]
    return get(`/api/v1/posts?q=${commonWords[word]}&page=${page}&per_page=${size}`)
  })

/** Every post once, in random order. */
function ids(rows: number): readonly number[] {
  return shuffled(
    Array.from({ length: rows }, (_, n) => n + 1),
    randomNumbers(5),
  )
}

const changes = ({ rows }: { readonly rows: number }): readonly Request[] =>
  ids(rows)
    .slice(0, maxRequests)
    .map((id, n) => ({
      method: 'PATCH',
      path: `/api/v1/posts/${id}`,
      body: JSON.stringify({ title: `Another title ${n}` }),
    }))

const deletions = ({ rows }: { readonly rows: number }): readonly Request[] =>
  ids(rows).map(id => ({ method: 'DELETE', path: `/api/v1/posts/${id}` }))

const query =
  'query($id: ID!, $limit: Int!) { user(id: $id) { id email posts(limit: $limit, orderBy: [CREATED_AT_DESC]) { id title author { id email } } } }'

const nested = () =>
  pairs(userCount, maxPerPage, (user, size) => {
    const variables = { id: String(user + 1), limit: size + 1 }
    return { method: 'POST', path: '/graphql', body: JSON.stringify({ query, variables }) }
  })

const created = (n: number): Request => ({
  method: 'POST',
  path: '/api/v1/posts',
  body: JSON.stringify({ title: `A new post ${n}`, body: `What it says, ${n}. `.padEnd(100, 'lorem ') }),
})

/** Nine reads (W1, W2, W10, W11, W12) for each create, in random order. */
function mixed({ rows }: { readonly rows: number }): readonly Request[] {
  const random = randomNumbers(7)
  const [newest, authors, users] = [newestFirst(), ofAuthors(), ofUsersByPage()]
  const reads = [
    () => get(`/api/v1/posts/${1 + randomInteger(random, rows)}`),
    () => get('/api/v1/posts?per_page=20'),
    ...[newest, authors, users].map(list => () => list[randomInteger(random, list.length)]),
  ]
  return Array.from({ length: maxRequests }, (_, n) => {
    const read = random() < 0.9 ? reads[n % reads.length]?.() : undefined
    return read ?? created(n)
  })
}

const list = { clients: 32, model: 'blog', cacheContent: 'nothing', big: true } as const
const write = { clients: 32, model: 'blog', cacheContent: 'nothing', big: false } as const

export const variedWorkloads: readonly VariedWorkload[] = [
  {
    ...list,
    name: 'W10',
    description: 'newest first, pages 1 to 50',
    floor: { ofLimit: 0.7, postgres: 0.06 },
    requests: newestFirst,
  },
  {
    ...list,
    name: 'W11',
    description: "an author's newest, with the author",
    floor: { ofLimit: 0.7, postgres: 0.06 },
    requests: ofAuthors,
  },
  {
    ...list,
    name: 'W12@page',
    description: "a user's posts, page 1 or 2",
    floor: { ofLimit: 0.7, postgres: 0.06 },
    requests: ofUsersByPage,
  },
  {
    ...list,
    name: 'W12@cursor',
    description: "a user's posts from a cursor",
    floor: { ofLimit: 0.7, postgres: 0.06 },
    requests: ofUsersByCursor,
  },
  {
    ...list,
    name: 'W13@exact',
    description: 'a status that 40 % have, newest first, total counted',
    model: 'editorial',
    floor: { ofLimit: 0.7 },
    requests: () => ofStatus('exact'),
  },
  {
    ...list,
    name: 'W13@cached',
    description: 'the same, with cached totals',
    model: 'editorial',
    cacheContent: 'totals',
    floor: { postgres: 0.06 },
    requests: () => ofStatus('exact'),
  },
  {
    ...list,
    name: 'W13@estimate',
    description: 'the same, total estimated beyond 10,000',
    model: 'editorial',
    floor: { ofLimit: 0.7, postgres: 0.06 },
    requests: () => ofStatus('estimate'),
  },
  {
    ...list,
    name: 'W13@none',
    description: 'the same, without a total',
    model: 'editorial',
    floor: { ofLimit: 0.7, postgres: 0.06 },
    requests: () => ofStatus('none'),
  },
  {
    ...list,
    name: 'W14@rare',
    description: 'search, a word in 10 posts',
    model: 'editorial',
    floor: { ofLimit: 0.7, postgres: 0.06 },
    requests: rareWord,
  },
  {
    ...list,
    name: 'W14@common',
    description: 'search, a word in 30,000 posts, total counted',
    model: 'editorial',
    floor: { ofLimit: 0.7 },
    requests: commonWord,
  },
  {
    ...list,
    name: 'W14@cached',
    description: 'the same, with cached totals',
    model: 'editorial',
    cacheContent: 'totals',
    floor: { postgres: 0.06 },
    requests: commonWord,
  },
  {
    ...write,
    name: 'W15',
    description: 'change one field, 32 clients',
    floor: { ofBaseline: 0.25, postgres: 0.08 },
    requests: changes,
  },
  {
    ...write,
    name: 'W16',
    description: 'delete a post, 32 clients',
    once: { posts: 300_000, seconds: 2 },
    floor: { ofBaseline: 0.25, postgres: 0.08 },
    requests: deletions,
  },
  {
    ...list,
    name: 'W17',
    description: "GraphQL, a user's 20 newest with their author",
    floor: { ofLimit: 0.6, postgres: 0.06 },
    requests: nested,
  },
  {
    ...list,
    name: 'W18',
    description: 'posts of administrators, newest first',
    floor: { ofLimit: 0.5 },
    requests: () => pages('author.role=admin&sort=-created_at', 25),
  },
  {
    ...write,
    name: 'W19@memory',
    description: 'nine reads of W1, W2, W10, W11, W12 to one create, 64 clients, with the answer cache',
    clients: 64,
    cacheContent: 'answers',
    floor: { ofBaseline: 0.25, postgres: 0.08 },
    requests: mixed,
  },
  {
    ...write,
    name: 'W19@database',
    description: 'the same, from the database',
    clients: 64,
    floor: {},
    requests: mixed,
  },
]
