/** The workloads, by their names in the table of docs/performance.md. */

import { randomNumbers } from '../data-set/posts.ts'
import type { Request } from '../load/load.ts'

export interface Workload {
  readonly name: string
  readonly description: string
  readonly clients: number
  /** Whether it only reads, so that it can be answered from the cache. */
  readonly reads: boolean
  /** The minimum ratio, from the database (with a million posts; on PostgreSQL) and from the cache. */
  readonly floor: {
    readonly cold: number
    readonly hot?: number
    readonly big?: number
    readonly postgres?: number
  }
  requests(rows: number, cursors: readonly string[]): readonly Request[]
}

const get = (path: string): Request => ({ method: 'GET', path })

function randomIds(rows: number): readonly Request[] {
  const random = randomNumbers(2)
  return Array.from({ length: 2_000 }, () => get(`/api/v1/posts/${1 + Math.floor(random() * rows)}`))
}

function posts(): readonly Request[] {
  return Array.from({ length: 200 }, (_, n) => ({
    method: 'POST',
    path: '/api/v1/posts',
    body: JSON.stringify({ title: `A new post ${n}`, body: `What it says, ${n}. `.padEnd(100, 'lorem ') }),
  }))
}

const graphql = (query: string): readonly Request[] => [
  { method: 'POST', path: '/graphql', body: JSON.stringify({ query }) },
]

export const workloads: readonly Workload[] = [
  {
    name: 'W1',
    description: 'item by random id',
    clients: 32,
    reads: true,
    floor: { cold: 0.6, hot: 0.75, big: 0.6, postgres: 0.17 },
    requests: randomIds,
  },
  {
    name: 'W2',
    description: 'first page of 20 with total',
    clients: 32,
    reads: true,
    floor: { cold: 0.18, hot: 0.7, big: 0.17, postgres: 0.08 },
    requests: () => [get('/api/v1/posts?per_page=20')],
  },
  {
    name: 'W3',
    description: 'page 4,000 of 20 with total',
    clients: 32,
    reads: true,
    floor: { cold: 0.1, hot: 0.7, postgres: 0.05 },
    requests: () => [get('/api/v1/posts?page=4000&per_page=20')],
  },
  {
    name: 'W4',
    description: 'cursor page of 20, anywhere',
    clients: 32,
    reads: true,
    floor: { cold: 0.17, hot: 0.7, big: 0.17, postgres: 0.08 },
    requests: (_, cursors) => cursors.map(cursor => get(`/api/v1/posts?per_page=20&cursor=${cursor}`)),
  },
  {
    name: 'W5@32',
    description: 'create a post, 32 clients',
    clients: 32,
    reads: false,
    floor: { cold: 0.3, postgres: 0.11 },
    requests: posts,
  },
  {
    name: 'W5@256',
    description: 'create a post, 256 clients',
    clients: 256,
    reads: false,
    floor: { cold: 0.45, postgres: 0.11 },
    requests: posts,
  },
  {
    name: 'W6',
    description: 'GraphQL, 10 posts with authors',
    clients: 32,
    reads: true,
    floor: { cold: 0.3, hot: 0.65, postgres: 0.08 },
    requests: () => graphql('{ posts(limit:10){ id title author { id email } } }'),
  },
  {
    name: 'W7',
    description: 'GraphQL, a user with 100 posts',
    clients: 32,
    reads: true,
    floor: { cold: 0.12, hot: 0.65 },
    requests: () => graphql('{ user(id:1){ id email posts(limit:100) { id title author { id } } } }'),
  },
]
