/** Reads on hot standbys: which server answers them, and that the answers do not differ. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { anonymous, type Principal, system, user } from '../../../../../src/base/principal.ts'
import type { ItemShape, ListShape } from '../../../../../src/engine/plan/plan.ts'
import type { ReplicaSettings } from '../../../../../src/engine/store/postgres/connections/settings.ts'
import { openPostgres } from '../../../../../src/engine/store/postgres/postgres.ts'
import type { Store } from '../../../../../src/engine/store/store.ts'
import { cases } from '../../../../cases.ts'
import { query } from '../../../../setups/databases/postgres.ts'
import { openProxy } from '../../../../setups/databases/proxy.ts'
import {
  pauseReplay,
  type ReplicatedDatabase,
  type ReplicatedServers,
  resumeReplay,
  startStandbys,
  until,
  untilCaughtUp,
} from '../../../../setups/databases/replicated.ts'
import { blog, Client, fields, listOfPosts } from '../../blog.ts'

const item: ItemShape = { kind: 'item', collection: 'posts', id: 0, select: fields('id', 'title') }
const people: ListShape = { ...listOfPosts, collection: 'users', select: fields('id', 'name') }
const ann = user(1, 'user', 'all')

/** A node, and the changes of state that its replicas reported. */
class Node extends Client {
  readonly reports: (string | undefined)[]

  constructor(store: Store, reports: (string | undefined)[]) {
    super(store)
    this.reports = reports
  }

  static async open(url: string, replicas: readonly string[], cacheBytes = 1_000_000): Promise<Node> {
    const reports: (string | undefined)[] = []
    const settings = replicas.map((url): ReplicaSettings => {
      return { url, onChange: trouble => void reports.push(trouble) }
    })
    return new Node(
      await openPostgres(blog, { url, replicas: settings, connections: 4, cacheBytes }),
      reports,
    )
  }

  get counts() {
    const counts = this.store.replicas?.()
    assert.ok(counts)
    return counts
  }

  async title(id: number, as: Principal = ann): Promise<unknown> {
    const { text } = await this.read({ shape: item, args: [id] }, as)
    return text === null ? null : JSON.parse(text).title
  }

  async names(): Promise<unknown[] | undefined> {
    return (await this.list(people, [0, 50], ann)).items?.map(({ name }) => name)
  }

  /** Repeats the read until a replica answers it. */
  async settled(ask: () => Promise<unknown>): Promise<void> {
    await until('a replica answers', async () => {
      const { answers } = this.counts
      await ask()
      return this.counts.answers > answers
    })
  }
}

interface Fixture extends ReplicatedDatabase {
  readonly standby: string
  /** Opens a node, by default without a cache. */
  node(cacheBytes?: number, replicas?: readonly string[]): Promise<Node>
}

/** Provides a database with users 1 and 2, and with post 1, whose title is `first`. */
async function withFixture(
  servers: ReplicatedServers,
  use: (fixture: Fixture) => Promise<void>,
): Promise<void> {
  const everywhere = await servers.newDatabase()
  const [standby = ''] = everywhere.standbys
  const nodes: Node[] = []
  const fixture = {
    ...everywhere,
    standby,
    async node(cacheBytes = 0, replicas = everywhere.standbys) {
      const node = await Node.open(everywhere.url, replicas, cacheBytes)
      nodes.push(node)
      return node
    },
  }
  try {
    const node = await Node.open(everywhere.url, [])
    nodes.push(node)
    for (const name of ['ann', 'bob']) await node.create('users', { name, email: `${name}@example.com` })
    await node.create('posts', { title: 'first' }, ann)
    await use(fixture)
  } finally {
    await resumeReplay(standby).catch(() => undefined)
    for (const node of nodes) await node.store.close()
  }
}

/** The number of the service's connections whose last statement read from the table. */
async function readers(url: string, table: string): Promise<number> {
  const [row] = await query(
    url,
    `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'portico' AND query LIKE '%FROM "${table}"%'`,
  )
  return Number(row?.n)
}

let servers: ReplicatedServers
before(async () => {
  servers = await startStandbys(1)
})
after(() => servers.close())

test('a standby answers the reads of callers, and the primary those of Portico itself', () =>
  withFixture(servers, async ({ standby, node }) => {
    const client = await node()
    await client.settled(() => client.title(1))
    const before = client.counts
    for (let round = 0; round < 5; round++) assert.equal(await client.title(1), 'first')
    assert.equal(client.counts.answers, before.answers + 5)
    assert.ok((await readers(standby, 'posts')) > 0, 'the standby was queried')
    assert.equal(await client.title(1, system), 'first')
    assert.equal(client.counts.answers, before.answers + 5)
  }))

test('every node reads a collection from the primary until the standby has replayed its changes, and others from the standby', () =>
  withFixture(servers, async ({ standby, node }) => {
    const [writer, other] = [await node(), await node(1_000_000)]
    // Another item each time, since answers of the primary are cached.
    let id = 1000
    for (const node of [writer, other]) await node.settled(() => node.title(id++))
    await pauseReplay(standby)
    await writer.update('posts', 1, { title: 'second' }, ann)
    const [stale] = await query(standby, 'SELECT title FROM posts WHERE id = 1')
    assert.equal(stale?.title, 'first', 'the standby has not replayed the update')
    for (const node of [writer, other]) {
      const { answers, up } = node.counts
      for (let round = 0; round < 3; round++) {
        for (const who of [ann, user(2, 'user', 'all'), anonymous('127.0.0.1')]) {
          assert.equal(await node.title(1, who), 'second')
        }
      }
      assert.equal(node.counts.answers, answers, 'no standby has answered')
      assert.equal(up, 1, 'a standby that lags is still up')
      assert.deepEqual(await node.names(), ['ann', 'bob'])
      assert.equal(node.counts.answers, answers + 1, 'it has replayed all changes of users')
    }
    assert.ok(writer.counts.lag > 0)
    await resumeReplay(standby)
    await writer.settled(() => writer.title(1))
    assert.equal(await writer.title(1), 'second')
  }))

test('a commit that is visible on a standby before it is on the primary is not returned', () =>
  withFixture(servers, async ({ url, standby, node }) => {
    const [writer, other] = [await node(), await node()]
    await other.settled(() => other.title(1))
    const settings = async (change: string) => {
      await query(url, `ALTER SYSTEM ${change}`)
      await query(url, 'SELECT pg_reload_conf()')
    }
    // Commits are replayed, but not visible on the primary until a standby of this name has them.
    await settings("SET synchronous_standby_names = 'nobody'")
    try {
      await until('commits wait for a standby', async () => {
        const [row] = await query(url, 'SHOW synchronous_standby_names')
        return row?.synchronous_standby_names === 'nobody'
      })
      const writing = writer.update('posts', 1, { title: 'second' }, ann)
      await until('the standby shows it', async () => {
        const [row] = await query(standby, 'SELECT title FROM posts WHERE id = 1')
        return row?.title === 'second'
      })
      const { unfit } = other.counts
      for (let round = 0; round < 3; round++) assert.equal(await other.title(1), 'first')
      assert.equal(other.counts.unfit, unfit + 3, 'the standby was queried, and was ahead')
      await settings('RESET synchronous_standby_names')
      await writing
      assert.equal(await other.title(1), 'second')
    } finally {
      await settings('RESET synchronous_standby_names')
    }
  }))

type Action =
  | { readonly kind: 'pause' | 'resume' }
  | { readonly kind: 'create' | 'update' | 'remove'; readonly by: number; readonly nth: number }
  | { readonly kind: 'item' | 'users'; readonly by: number; readonly nth: number }
  | { readonly kind: 'page'; readonly by: number; readonly nth: number; readonly offset: number }

const who = { by: fc.nat({ max: 1 }), nth: fc.nat({ max: 1000 }) }
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('pause' as const, 'resume' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('create' as const, 'update' as const, 'remove' as const),
      ...who,
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('item' as const, 'users' as const), ...who }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('page' as const), ...who, offset: fc.nat({ max: 420 }) }),
  },
)

/** Compares two nodes with a standby to one with neither standby nor cache. Returns how many reads the standby answered. */
async function compare({ standby, node }: Fixture, actions: readonly Action[]): Promise<number> {
  const nodes = [await node(1_000_000), await node(1_000_000)] as const
  const plain = await node(0, [])
  const creates = Array.from({ length: 400 }, (_, index) => plain.create('posts', { title: `${index}` }, ann))
  const ids = [1, ...(await Promise.all(creates)).map(({ id }) => id)]
  const handlers: {
    [Kind in Action['kind']]: (action: Extract<Action, { kind: Kind }>) => Promise<unknown>
  } = {
    pause: () => pauseReplay(standby),
    resume: () => resumeReplay(standby),
    async create({ by, nth }) {
      ids.push((await nodes[by % 2 ? 1 : 0].create('posts', { title: `new ${nth}` }, ann)).id)
    },
    update: ({ by, nth }) =>
      nodes[by % 2 ? 1 : 0].update('posts', ids[nth % ids.length] ?? 0, { title: `changed ${nth}` }, ann),
    async remove({ by, nth }) {
      const [id = 0] = ids.splice(nth % ids.length, 1)
      await nodes[by % 2 ? 1 : 0].remove('posts', id, ann)
    },
    async item({ by, nth }) {
      const id = ids[nth % ids.length] ?? 0
      assert.equal(await nodes[by % 2 ? 1 : 0].title(id), await plain.title(id))
    },
    async users({ by }) {
      assert.deepEqual(await nodes[by % 2 ? 1 : 0].names(), ['ann', 'bob'])
    },
    async page({ by, offset }) {
      const page = await nodes[by % 2 ? 1 : 0].list(listOfPosts, [offset, 3], ann)
      const wholeList = await plain.list(listOfPosts, [0, 1000], ann)
      assert.deepEqual(page, { ...wholeList, items: wholeList.items?.slice(offset, offset + 3) })
    },
  }
  for (const action of actions) await handlers[action.kind](action as never)
  await resumeReplay(standby)
  return nodes[0].counts.answers + nodes[1].counts.answers
}

test('reads return the same from the cache, the standby and the primary, however far the standby lags', async () => {
  let answers = 0
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 20, maxLength: 60 }), actions =>
      withFixture(servers, async fixture => {
        answers += await compare(fixture, actions)
      }),
    ),
    cases(5, 5),
  )
  assert.ok(answers > 0, 'the standby answered some reads')
})

test('a server that is not a standby of the primary answers no reads', () =>
  withFixture(servers, async ({ url, node }) => {
    const client = await node(0, [url])
    await until('the standby is excluded', () => client.reports.length > 0)
    assert.deepEqual(client.reports, ['it is not a standby of the primary'])
    assert.equal(await client.title(1), 'first')
    const { up, known, answers } = client.counts
    assert.deepEqual({ up, known, answers }, { up: 0, known: 1, answers: 0 })
  }))

test('a standby that stops responding is excluded until it responds again, and no read waits for long', () =>
  withFixture(servers, async ({ standby, node }) => {
    const proxy = await openProxy(standby)
    try {
      const client = await node(0, [proxy.url])
      await client.settled(() => client.title(1))
      proxy.state.isSilent = true
      const start = performance.now()
      for (let round = 0; round < 10; round++) assert.equal(await client.title(1), 'first')
      assert.ok(performance.now() - start < 14_000, 'sooner than the answer timeout')
      await until('the standby is excluded', () => client.counts.up === 0)
      assert.deepEqual(client.reports, ['it does not answer'])
      proxy.state.isSilent = false
      await until('the standby is up again', () => client.counts.up === 1)
      await client.settled(() => client.title(1))
      assert.deepEqual(client.reports, ['it does not answer', undefined])
    } finally {
      proxy.close()
    }
  }))

test('reads continue while a standby is down, and use it again after its restart', () =>
  withFixture(servers, async ({ node }) => {
    const [standby] = servers.standbys
    const client = await node()
    await client.settled(() => client.title(1))
    await standby?.kill()
    try {
      for (let round = 0; round < 20; round++) {
        await client.update('posts', 1, { title: `${round}` }, ann)
        assert.equal(await client.title(1), `${round}`)
      }
      await until('the standby is excluded', () => client.counts.up === 0)
      assert.deepEqual(client.reports, ['it does not answer'])
    } finally {
      await standby?.start()
    }
    await client.settled(() => client.title(1))
    assert.equal(await client.title(1), '19')
    assert.deepEqual(client.reports, ['it does not answer', undefined])
  }))

test('a store opens even if its replica is unreachable', () =>
  withFixture(servers, async ({ standby, node }) => {
    const client = await node(0, [standby.replace(/@[^/]*/, '@%2Fnowhere')])
    assert.equal(await client.title(1), 'first')
    await until('the standby is excluded', () => client.counts.up === 0)
    assert.deepEqual(client.reports, ['it does not answer'])
  }))

test('after a promotion, a standby of the old primary answers no reads, however far ahead it is', async () => {
  const others = await startStandbys(2)
  try {
    const { url, standbys } = await others.newDatabase()
    const [promoted = '', left = ''] = standbys
    const old = await Node.open(url, [left], 0)
    try {
      await old.create('users', { name: 'ann', email: 'ann@example.com' })
      await old.create('posts', { title: 'first' }, ann)
      await old.settled(() => old.title(1))
      await untilCaughtUp(url, promoted)
      await query(promoted, 'SELECT pg_promote()')
      // The new primary does not have this update.
      await old.update('posts', 1, { title: 'lost' }, ann)
      await query(url, "SELECT pg_logical_emit_message(true, 'x', repeat('x', 10000000))")
      await untilCaughtUp(url, left)
    } finally {
      await old.store.close()
    }
    const client = await Node.open(promoted, [left], 0)
    try {
      await until('the standby is excluded', () => client.reports.length > 0)
      assert.equal(await client.title(1), 'first')
      await client.update('posts', 1, { title: 'second' }, ann)
      assert.equal(await client.title(1), 'second')
      const { up, answers } = client.counts
      assert.deepEqual({ up, answers }, { up: 0, answers: 0 })
    } finally {
      await client.store.close()
    }
  } finally {
    await others.close()
  }
})
