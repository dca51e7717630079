/** Three nodes while nodes, PostgreSQL and Redis fail: no acknowledged write is lost or repeated. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { until } from '../../api/transports/service.ts'
import { caseCount } from '../../cases.ts'
import { call } from '../../server/serve/service.ts'
import { query } from '../../setups/databases/postgres.ts'
import { type Outage, subscribeToPosts, Writers, withOutage } from './outage.ts'

/** Statuses that a write may get while the database fails. */
const refused = [201, 503]
const manyWrites = caseCount(150, 50)
const someWrites = caseCount(40, 15)
/** An unreachable database is reported within two seconds; a test machine may be slower. */
const maxResponseMs = 20_000

interface Fault {
  readonly description: string
  /** Whether client connections may break: when a node ends. */
  readonly breaks?: boolean
  strike(outage: Outage, writers: Writers): Promise<void>
}

const faults: readonly Fault[] = [
  {
    description: 'a node is killed and started again',
    breaks: true,
    async strike({ cluster }, writers) {
      for (const node of cluster.nodes) {
        await node.kill()
        await writers.untilAcknowledged(someWrites)
        await node.start()
        await writers.untilAcknowledged(someWrites)
      }
    },
  },
  {
    description: 'PostgreSQL is restarted in an orderly way',
    async strike({ postgres }) {
      await postgres.stop('fast')
      await wait(1500)
      await postgres.start()
    },
  },
  {
    description: 'PostgreSQL is stopped immediately, and started',
    async strike({ postgres }) {
      await postgres.stop('immediate')
      await postgres.start()
    },
  },
  {
    description: 'PostgreSQL is killed, and recovers',
    async strike({ postgres }) {
      await postgres.kill()
      await postgres.start()
    },
  },
  {
    description: 'backends are terminated repeatedly in the middle of transactions',
    async strike({ postgres }, writers) {
      for (let round = 0; round < 20; round++) {
        await query(
          postgres.url,
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE application_name = 'portico' AND pid <> pg_backend_pid()
             AND ($1 OR state LIKE '%transaction%' OR query LIKE '%COMMIT%')`,
          [round % 4 === 3],
        )
        await wait(20)
      }
      await writers.untilAcknowledged(someWrites)
    },
  },
  {
    description: 'connections to the database are reset repeatedly',
    async strike({ proxy }, writers) {
      for (let round = 0; round < 10; round++) {
        proxy.cut()
        await writers.untilAcknowledged(10)
      }
    },
  },
  {
    description: 'packets to the database are dropped silently',
    async strike({ proxy }) {
      proxy.hold()
      await wait(6000)
      proxy.release()
    },
  },
  {
    description: 'PostgreSQL and Redis are both stopped and started',
    async strike({ postgres, redis }) {
      await Promise.all([postgres.kill(), redis.kill()])
      await wait(500)
      await Promise.all([postgres.start(), redis.start()])
    },
  },
]

test('no acknowledged write is lost or repeated, whatever fails, and all nodes recover without intervention', async t => {
  await withOutage(async outage => {
    for (const { description, breaks = false, strike } of faults) {
      await t.test(description, async context => {
        const listeners = breaks
          ? []
          : outage.cluster.nodes.map((_, index) => subscribeToPosts(outage, index))
        const writers = new Writers(outage, description)
        try {
          for (const { titles } of listeners) await until(() => titles.length > 0, maxResponseMs)
          await writers.untilAcknowledged(manyWrites)
          await strike(outage, writers)
          await writers.untilAcknowledged(manyWrites)
        } finally {
          await writers.stop()
        }
        for (const { isUp, log } of outage.cluster.nodes)
          assert.ok(isUp, `a node has exited: ${log.slice(-3000)}`)
        context.diagnostic(`${writers.summary()}, the slowest after ${Math.round(writers.slowestMs)} ms`)
        for (const status of writers.statuses.keys())
          assert.ok(refused.includes(status) || (breaks && status === 0), writers.summary())
        assert.ok(writers.slowestMs < maxResponseMs, `${writers.slowestMs} ms`)
        await writers.assertNothingLost()
        const stored = await writers.storedTitles()
        for (const { titles, end } of listeners) {
          const last = stored.at(-1) ?? ''
          await until(() => titles.at(-1) === last, maxResponseMs)
          end()
          // It subscribed at some point; from there on no event is missed or repeated.
          const from = stored.indexOf(titles[0] ?? '')
          assert.deepEqual(titles, stored.slice(from))
        }
        for (const node of outage.cluster.nodes) await node.ready()
      })
    }

    await t.test('subscribers get every event after a restart of PostgreSQL', async () => {
      const { cluster, postgres, key } = outage
      const write = async (title: string) => {
        const answer = await call(`${cluster.url}/api/v1/posts`, { method: 'POST', key, body: { title } })
        assert.equal(answer.status, 201, answer.text)
      }
      const all = cluster.nodes.flatMap((_, index) => [
        subscribeToPosts(outage, index),
        subscribeToPosts(outage, index),
      ])
      const received = (listener: { readonly titles: string[] }) =>
        listener.titles.filter(title => title !== 'warm-up')
      for (let round = 0; all.some(({ titles }) => titles.length === 0); round++) {
        assert.ok(round < 100, 'a subscriber hears nothing')
        await write('warm-up')
        await wait(50)
      }
      const expected: string[] = []
      for (const [turn, stop] of (['fast', 'immediate', 'kill'] as const).entries()) {
        await (stop === 'kill' ? postgres.kill() : postgres.stop(stop))
        await wait(700)
        await postgres.start()
        for (const node of cluster.nodes) await node.ready()
        for (let post = 0; post < 5; post++) {
          expected.push(`after ${turn} ${post}`)
          await write(`after ${turn} ${post}`)
        }
        await until(() => all.every(listener => received(listener).length >= expected.length), maxResponseMs)
      }
      for (const listener of all) {
        listener.end()
        assert.deepEqual(received(listener), expected)
      }
    })

    await t.test(
      'without PostgreSQL requests are a 503 in time, readiness fails and liveness does not',
      async () => {
        const { cluster, postgres, key } = outage
        const reads = ['/api/v1/posts?per_page=1', '/api/v1/users/1', '/readyz']
        await postgres.kill()
        try {
          for (const { url } of cluster.nodes) {
            for (const path of reads) {
              const since = performance.now()
              const { status, code } = await call(url + path, { key })
              assert.deepEqual([status, code], [503, 'UNAVAILABLE'], path)
              assert.ok(performance.now() - since < maxResponseMs)
            }
            const query = '{ posts(limit: 1) { id } }'
            const response = await call(`${url}/graphql`, { method: 'POST', key, body: { query } })
            assert.match(response.text, /UNAVAILABLE/)
            assert.equal((await call(`${url}/healthz`)).status, 200)
            assert.equal((await call(`${url}/metrics`)).status, 200)
          }
        } finally {
          await postgres.start()
        }
        for (const node of cluster.nodes) {
          await node.ready()
          assert.equal((await call(`${node.url}/api/v1/posts?per_page=1`, { key })).status, 200)
        }
      },
    )
  })
})
