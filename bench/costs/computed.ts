/** The cost of a computed count in a list of 20: the list with it, without it, and sorted by it. */

import { user } from '../../src/base/principal.ts'
import { createGuard } from '../../src/engine/plan/guard/guard.ts'
import { orderById } from '../../src/engine/plan/order.ts'
import type { ListShape } from '../../src/engine/plan/plan.ts'
import type { Store } from '../../src/engine/store/store.ts'
import { anyone, boolean, collection, count, field, index, model, relation, text } from '../../src/index.ts'
import { checkModel } from '../../src/model/check/check.ts'
import { onBothDatabases } from '../data-set/filled-databases.ts'
import { median } from '../workloads/measure.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
const [authors, postsEach] = [1000, 100]

const authorsModel = checkModel(
  model({
    authors: collection({ access, fields: { name: text() }, computed: { post_count: count('posts') } }),
    posts: collection({
      // Only readable posts count, so each post is checked.
      access: { ...access, read: field('published').eq(true) },
      fields: { published: boolean(), author_id: relation('authors', { inverse: 'posts' }) },
      indexes: [index('author_id', 'published')],
    }),
  }),
)

const list = (fields: readonly string[]): ListShape => ({
  kind: 'list',
  collection: 'authors',
  within: undefined,
  filter: undefined,
  search: undefined,
  sort: orderById,
  window: { kind: 'page', offset: 0, limit: 1, total: 'none' },
  select: fields.map(name => ({ kind: 'field', key: name, field: name }) as const),
})

const lists = {
  'id, name': ['id', 'name'],
  'id, name, post_count': ['id', 'name', 'post_count'],
} as const

export interface ComputedMeasurement {
  readonly database: string
  readonly fields: string
  /** Microseconds per list, by round. */
  readonly us: readonly number[]
}

async function measureMicros(store: Store, fields: readonly string[], lists: number): Promise<number> {
  const guard = createGuard(authorsModel)
  const shape = list(fields)
  const start = performance.now()
  for (let n = 0; n < lists; n++) {
    await store.read(guard({ shape, args: [(n * 20) % authors, 20] }, user(1, 'user', 'all')))
  }
  return ((performance.now() - start) * 1000) / lists
}

/** Reads one list after the other, without caches. */
export function measureComputed(rounds: number): Promise<readonly ComputedMeasurement[]> {
  return onBothDatabases(async database => {
    const store = await database.open(authorsModel)
    try {
      await database.fill(`
        INSERT INTO "authors" ("name", "created_at")
          SELECT 'Author ' || n, '2026-01-01T00:00:00.000Z' FROM ${database.numbers(authors)};
        INSERT INTO "posts" ("published", "author_id", "created_at")
          SELECT ${database.name === 'SQLite' ? 'n % 2' : 'n % 2 = 0'}, 1 + n % ${authors}, '2026-01-01T00:00:00.000Z'
          FROM ${database.numbers(authors * postsEach)}`)
      const measurements = Object.entries(lists).map(([fields, names]) => ({
        fields,
        names,
        us: [] as number[],
      }))
      for (let round = 0; round < rounds; round++) {
        for (const { names, us } of measurements) us.push(await measureMicros(store, names, 500))
      }
      return measurements.map(({ fields, us }) => ({ database: database.name, fields, us }))
    } finally {
      await store.close()
    }
  })
}

export function computedTable(measurements: readonly ComputedMeasurement[]): string {
  return [
    `| 20 of ${authors.toLocaleString('en')} authors, each with ${postsEach} posts, on | \`fields\` | median | fastest |`,
    '|---|---|---|---|',
    ...measurements.map(({ database, fields, us }) => {
      const times = [median(us), Math.min(...us)].map(value => `${Math.round(value ?? 0)} µs`)
      return `| ${[database, `\`${fields}\``, ...times].join(' | ')} |`
    }),
  ].join('\n')
}
