/** Group commit: writes that share a transaction, including those in which one or all fail. */
import assert from 'node:assert/strict'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ApiError } from '../../../../../src/base/errors.ts'
import { system, user } from '../../../../../src/base/principal.ts'
import { slot, sql } from '../../../../../src/engine/store/sql/writer.ts'
import { Connection } from '../../../../../src/engine/store/sqlite/connection.ts'
import { noOtherThreads } from '../../../../../src/engine/store/sqlite/file/other-threads.ts'
import { openSqlite } from '../../../../../src/engine/store/sqlite/sqlite.ts'
import { CommitQueue } from '../../../../../src/engine/store/sqlite/write/commit.ts'
import { blog, Client, withFile } from '../../blog.ts'
import { failure } from '../../contract.ts'

/** A database whose statements can be made to fail. */
class Failing extends DatabaseSync {
  /** The text of the statement that fails, and how many times. */
  fails: { readonly text: string; times: number; readonly errcode?: number } = { text: '', times: 0 }

  override prepare(text: string): StatementSync {
    const statement = super.prepare(text)
    const get: (...values: SQLInputValue[]) => unknown = statement.get.bind(statement)
    const failing = (...values: SQLInputValue[]) => {
      if (this.fails.text === text && this.fails.times > 0) {
        this.fails.times--
        throw Object.assign(new Error('disk I/O error'), { errcode: this.fails.errcode ?? 10 })
      }
      return get(...values)
    }
    Object.defineProperty(statement, 'get', { value: failing })
    return statement
  }
}

interface Fixture {
  readonly database: Failing
  readonly queue: CommitQueue<number, string>
  readonly committed: number[]
  /** A job that inserts `n`, then throws `error` if given. */
  insert(n: number, error?: Error): () => number
  /** A job that inserts `n` and whose result Node.js cannot represent. */
  insertUnreadable(n: number): () => number
  stored(): unknown[]
  began(): number
}

interface QueueOptions {
  readonly maxWaiting?: number
  readonly clock?: () => number
  readonly lockWaitMs?: number
  readonly lock?: typeof noOtherThreads.lock
}

function withQueue(use: (fixture: Fixture) => Promise<void>, options: QueueOptions = {}): Promise<void> {
  const { maxWaiting = 100, clock = () => 0, lockWaitMs = 5000, lock = noOtherThreads.lock } = options
  return withFile(async file => {
    const database = new Failing(file)
    database.exec('CREATE TABLE numbers (n INTEGER PRIMARY KEY)')
    const connection = new Connection(
      database,
      { file, otherThreads: noOtherThreads, busyTimeoutMs: 5000 },
      () => {},
    )
    const statement = connection.prepare(sql`INSERT INTO numbers VALUES (${slot(0)}) RETURNING n`)
    const committed: number[] = []
    let began = 0
    const queue = new CommitQueue<number, string>(connection, {
      maxWaiting,
      lockWaitMs,
      lock,
      onBegin: () => began++,
      onCommit: n => committed.push(n),
      answer: n => `stored ${n}`,
      clock,
    })
    const insert = (n: number, error?: Error) => () => {
      statement.run({ args: [], userId: null, slots: [n] })
      if (error) throw error
      return n
    }
    const unreadable = connection.prepare(sql`INSERT INTO numbers VALUES (${slot(0)}) RETURNING 1 << 60`)
    const insertUnreadable = (n: number) => () => {
      unreadable.run({ args: [], userId: null, slots: [n] })
      return n
    }
    const storedNumbers = () =>
      database
        .prepare('SELECT n FROM numbers ORDER BY n')
        .all()
        .map(row => row.n)
    try {
      await use({
        database,
        queue,
        committed,
        insert,
        insertUnreadable,
        stored: storedNumbers,
        began: () => began,
      })
    } finally {
      connection.close()
    }
  })
}

const states = (results: readonly PromiseSettledResult<string>[]) =>
  results.map(result => (result.status === 'fulfilled' ? result.value : result.reason.code))

test('waiting writes share one transaction and are acknowledged in order', () =>
  withQueue(async ({ queue, insert, committed, began }) => {
    const answers = await Promise.all([queue.add(insert(1)), queue.add(insert(2)), queue.add(insert(3))])
    assert.deepEqual(answers, ['stored 1', 'stored 2', 'stored 3'])
    assert.deepEqual(committed, [1, 2, 3])
    assert.equal(began(), 1)
  }))

/** Adds a write per turn of the event loop; returns the transaction of each. `pace`: the duration of a turn in milliseconds. */
async function turnByTurn(count: number, pace: number): Promise<readonly number[]> {
  let time = 0
  let transactions: readonly number[] = []
  const use = async ({ queue, insert, began }: Fixture) => {
    const slow = insert(0)
    await queue.add(() => {
      time += 5
      return slow()
    })
    const added: Promise<number>[] = []
    for (let n = 1; n <= count; n++) {
      added.push(queue.add(insert(n)).then(began))
      time += pace
      await setImmediate()
    }
    transactions = await Promise.all(added)
  }
  await withQueue(use, { clock: () => time })
  return transactions
}

test('writes that arrive in consecutive turns share one transaction', async () => {
  assert.deepEqual(await turnByTurn(5, 0), [2, 2, 2, 2, 2])
})

test('a write waits for others no longer than the last transaction took', async () => {
  assert.deepEqual(await turnByTurn(6, 2), [2, 2, 2, 2, 3, 4])
})

test('a write that fails before its first change does not restart the transaction', () =>
  withQueue(async ({ queue, insert, stored, began }) => {
    const refuse = () => {
      throw new ApiError('NOT_FOUND')
    }
    const results = await Promise.allSettled([queue.add(insert(1)), queue.add(refuse), queue.add(insert(2))])
    assert.deepEqual(states(results), ['stored 1', 'NOT_FOUND', 'stored 2'])
    assert.deepEqual(stored(), [1, 2])
    assert.equal(began(), 1)
  }))

test('a write that fails after a change is undone alone, and the others are stored once', () =>
  withQueue(async ({ queue, insert, stored, committed, began }) => {
    for (let round = 0; round < 3; round++) {
      const n = 10 * round
      const results = await Promise.allSettled([
        queue.add(insert(n)),
        queue.add(insert(n + 1, new ApiError('FORBIDDEN'))),
        queue.add(insert(n + 2)),
        queue.add(insert(n + 2)),
        queue.add(insert(n + 1)),
      ])
      assert.deepEqual(states(results), [
        `stored ${n}`,
        'FORBIDDEN',
        `stored ${n + 2}`,
        'CONFLICT',
        `stored ${n + 1}`,
      ])
    }
    assert.deepEqual(stored(), [0, 1, 2, 10, 11, 12, 20, 21, 22])
    assert.deepEqual(committed, [0, 2, 1, 10, 12, 11, 20, 22, 21])
    // The first batch was started again; the others used savepoints from the start.
    assert.equal(began(), 4)
  }))

test('an executed statement whose result cannot be read is undone too', () =>
  withQueue(async ({ queue, insert, insertUnreadable, stored }) => {
    const jobs = [insert(1), insertUnreadable(2), insert(3)]
    const results = await Promise.allSettled(jobs.map(job => queue.add(job)))
    assert.deepEqual(states(results), ['stored 1', 'INTERNAL_ERROR', 'stored 3'])
    assert.deepEqual(stored(), [1, 3])
  }))

test('a failing write that is alone in its transaction is undone', () =>
  withQueue(async ({ queue, insert, stored }) => {
    await assert.rejects(queue.add(insert(1, new TypeError('x'))), failure('INTERNAL_ERROR'))
    assert.deepEqual(stored(), [])
    assert.equal(await queue.add(insert(1)), 'stored 1')
  }))

const BUSY = 5

test('if the lock is taken before a transaction is repeated, all writes wait for it together', () =>
  withQueue(async ({ database, queue, insert, stored, began }) => {
    const fails = (n: number) => () => {
      insert(n)()
      database.fails = { text: 'BEGIN IMMEDIATE', times: 3, errcode: BUSY }
      throw new ApiError('FORBIDDEN')
    }
    const results = await Promise.allSettled([
      queue.add(insert(1)),
      queue.add(fails(2)),
      queue.add(insert(3)),
    ])
    assert.deepEqual(states(results), ['stored 1', 'FORBIDDEN', 'stored 3'])
    assert.deepEqual(stored(), [1, 3])
    assert.equal(began(), 2)
  }))

test('a write that has waited for its maximum is refused at the next attempt, and later writes keep waiting', async () => {
  let time = 0
  await withQueue(
    async ({ database, queue, insert, stored }) => {
      database.fails = { text: 'BEGIN IMMEDIATE', times: 1000, errcode: BUSY }
      const first = queue.add(insert(1))
      time = 60
      const second = queue.add(insert(2))
      time = 100
      await assert.rejects(first, failure('UNAVAILABLE'))
      database.fails.times = 0
      assert.equal(await second, 'stored 2')
      assert.deepEqual(stored(), [2])
    },
    { clock: () => time, lockWaitMs: 100 },
  )
})

test('a failed COMMIT fails every write of its transaction, and the next one succeeds', () =>
  withQueue(async ({ database, queue, insert, stored, committed }) => {
    database.fails = { text: 'COMMIT', times: 1 }
    const results = await Promise.allSettled([queue.add(insert(1)), queue.add(insert(2))])
    assert.deepEqual(states(results), ['UNAVAILABLE', 'UNAVAILABLE'])
    assert.deepEqual(stored(), [])
    assert.deepEqual(committed, [])
    assert.equal(await queue.add(insert(1)), 'stored 1')
    assert.deepEqual(stored(), [1])
  }))

test('a COMMIT that violates a foreign key fails only the write that caused it', () =>
  withQueue(async ({ database, queue, insert, stored, committed }) => {
    database.exec(
      'PRAGMA foreign_keys = ON; CREATE TABLE others (n INTEGER REFERENCES numbers (n) DEFERRABLE INITIALLY DEFERRED)',
    )
    const refer = (n: number) => () => {
      database.exec(`INSERT INTO others VALUES (${n})`)
      return n
    }
    const results = await Promise.allSettled([
      queue.add(insert(1)),
      queue.add(refer(1)),
      queue.add(refer(7)),
      queue.add(insert(2)),
    ])
    assert.deepEqual(states(results), ['stored 1', 'stored 1', 'CONFLICT', 'stored 2'])
    assert.deepEqual(stored(), [1, 2])
    assert.deepEqual(committed, [1, 1, 2])
    assert.equal(database.prepare('SELECT count(*) AS n FROM others').get()?.n, 1)
  }))

test('of two writes, the valid one is stored whichever came first', () =>
  withQueue(async ({ database, queue, insert, stored }) => {
    database.exec(
      'PRAGMA foreign_keys = ON; CREATE TABLE others (n INTEGER REFERENCES numbers (n) DEFERRABLE INITIALLY DEFERRED)',
    )
    const refer = () => {
      database.exec('INSERT INTO others VALUES (99)')
      return 99
    }
    const results = await Promise.allSettled([queue.add(insert(1)), queue.add(refer)])
    const other = await Promise.allSettled([queue.add(refer), queue.add(insert(2))])
    assert.deepEqual(
      [states(results), states(other)],
      [
        ['stored 1', 'CONFLICT'],
        ['CONFLICT', 'stored 2'],
      ],
    )
    assert.deepEqual(stored(), [1, 2])
  }))

test('writes beyond maxWaiting are refused at once, and the waiting ones are stored', () =>
  withQueue(
    async ({ queue, insert, stored }) => {
      const results = await Promise.allSettled([1, 2, 3, 4, 5].map(n => queue.add(insert(n))))
      assert.deepEqual(states(results), ['stored 1', 'stored 2', 'stored 3', 'UNAVAILABLE', 'UNAVAILABLE'])
      assert.deepEqual(stored(), [1, 2, 3])
      assert.equal(await queue.add(insert(6)), 'stored 6')
    },
    { maxWaiting: 3 },
  ))

test('more writes than fit into one transaction take several, in order', () =>
  withQueue(
    async ({ queue, insert, committed, began }) => {
      const numbers = Array.from({ length: 2500 }, (_, n) => n)
      await Promise.all(numbers.map(n => queue.add(insert(n))))
      assert.deepEqual(committed, numbers)
      assert.equal(began(), 3)
    },
    { maxWaiting: 3000 },
  ))

for (const afterFailure of [false, true]) {
  test(`slow writes with steps end their transaction, and others are served before the rest, in order${afterFailure ? ', with savepoints too' : ''}`, async () => {
    let time = 0
    const use = async ({ queue, insert, committed, began }: Fixture) => {
      if (afterFailure) await queue.add(insert(100, new Error('after a change'))).catch(() => {})
      const before = began()
      const slow = (n: number) => () => {
        time += 30
        return insert(n)()
      }
      const writes = [1, 2, 3, 4, 5].map(n => queue.add(slow(n), true))
      const plain = [6, 7].map(n => queue.add(slow(n)))
      const turns: number[] = []
      void writes[1]?.then(async () => {
        await setImmediate()
        turns.push(committed.length)
      })
      assert.deepEqual(
        await Promise.all([...writes, ...plain]),
        [1, 2, 3, 4, 5, 6, 7].map(n => `stored ${n}`),
      )
      assert.deepEqual(committed, [1, 2, 3, 4, 5, 6, 7])
      // Two in each, until they have taken longer than a batch may; writes without steps end none.
      assert.equal(began() - before, 3)
      assert.ok((turns[0] ?? 7) < 7, 'others had a turn')
    }
    await withQueue(use, { clock: () => time })
  })
}

test('flush stores the waiting writes before it returns', () =>
  withQueue(async ({ queue, insert, stored }) => {
    const answers = [queue.add(insert(1)), queue.add(insert(2))]
    queue.flush()
    assert.deepEqual(stored(), [1, 2])
    assert.deepEqual(await Promise.all(answers), ['stored 1', 'stored 2'])
  }))

test('the writer lock is released after each commit, failed or not', () => {
  let holds = 0
  const lock = {
    take: () => {
      assert.equal(holds, 0)
      holds++
      return true
    },
    release: () => void holds--,
  }
  const use = async ({ database, queue, insert }: Fixture) => {
    await queue.add(insert(1))
    assert.equal(holds, 0)
    database.fails = { text: 'COMMIT', times: 1 }
    await assert.rejects(queue.add(insert(2)), failure('UNAVAILABLE'))
    assert.equal(holds, 0)
    assert.equal(await queue.add(insert(2)), 'stored 2')
  }
  return withQueue(use, { lock })
})

test('flush also stores more writes than fit into one transaction', () =>
  withQueue(
    async ({ queue, insert, stored }) => {
      const answers = Array.from({ length: 1500 }, (_, n) => queue.add(insert(n)))
      queue.flush()
      assert.equal(stored().length, 1500)
      await Promise.all(answers)
    },
    { maxWaiting: 2000 },
  ))

test('a full database refuses further writes, keeps its contents, and accepts writes once there is space', () =>
  withQueue(async ({ database, queue, insert, stored }) => {
    database.exec('PRAGMA max_page_count = 5')
    const attempts: PromiseSettledResult<string>[] = []
    for (let from = 1; !attempts.some(result => result.status === 'rejected'); from += 500) {
      const batch = Array.from({ length: 500 }, (_, n) => queue.add(insert(from + n)))
      attempts.push(...(await Promise.allSettled(batch)))
    }
    const keptIds = attempts.flatMap((result, n) => (result.status === 'fulfilled' ? [n + 1] : []))
    const refused = new Set(states(attempts.filter(result => result.status === 'rejected')))
    assert.deepEqual([...refused], ['UNAVAILABLE'])
    assert.deepEqual(stored(), keptIds)
    assert.deepEqual(database.prepare('PRAGMA integrity_check').all().length, 1)
    database.exec('PRAGMA max_page_count = 1000')
    assert.equal(await queue.add(insert(1_000_000)), 'stored 1000000')
  }))

test('a create refused after its INSERT leaves no row, event, search terms or count', () =>
  withFile(async file => {
    const store = openSqlite(blog, { file })
    const client = new Client(store)
    const ann = await client.create('users', { name: 'Ann', email: 'ann@example.com' })
    const ben = await client.create('users', { name: 'Ben', email: 'ben@example.com' })
    const as = user(ben.id, 'user', 'all')
    const results = await Promise.allSettled([
      client.create('posts', { title: 'first' }, as),
      client.create('posts', { title: 'stolen', author_id: ann.id }, as),
      client.create('posts', { title: 'second' }, as),
      client.create('posts', { title: 'lost', author_id: 99 }, system),
    ])
    assert.deepEqual(
      results.map(result => result.status),
      ['fulfilled', 'rejected', 'fulfilled', 'rejected'],
    )
    await store.close()
    const database = new DatabaseSync(file)
    const column = (query: string) =>
      database
        .prepare(query)
        .all()
        .map(row => Object.values(row)[0])
    assert.deepEqual(column('SELECT title FROM posts ORDER BY id'), ['first', 'second'])
    const logged = column("SELECT data FROM _events WHERE collection = 'posts' ORDER BY id")
    assert.deepEqual(
      logged.map(data => JSON.parse(String(data)).title),
      ['first', 'second'],
    )
    assert.deepEqual(column('SELECT rowid FROM _search_posts'), column('SELECT id FROM posts'))
    assert.deepEqual(column("SELECT n FROM _totals WHERE collection = 'posts'"), [2])
    database.close()
  }))
