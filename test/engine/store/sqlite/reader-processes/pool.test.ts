/** Reader processes: their results, fairness between callers, timeouts and lost processes. */
import assert from 'node:assert/strict'
import { fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, renameSync, writeFileSync, writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { FileIdentity } from '../../../../../src/engine/store/sqlite/file/identity.ts'
import {
  ReaderPool,
  type ReaderPoolOptions,
} from '../../../../../src/engine/store/sqlite/reader-processes/pool.ts'
import { withFile } from '../../blog.ts'

/** A statement that ends only with its process. */
const endless = [
  { sql: 'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c', values: [] },
]
const first = [{ sql: 'SELECT "text" FROM "notes" WHERE "id" = ?1', values: [1] }]
const unavailable = { code: 'UNAVAILABLE', message: 'The service cannot answer now.' }

interface Fixture {
  readonly pool: ReaderPool
  readonly database: DatabaseSync
  readonly file: string
}

type Options = Partial<Omit<ReaderPoolOptions, 'orders'>>

async function withPool(options: Options, use: (fixture: Fixture) => Promise<void>): Promise<void> {
  await withFile(async file => {
    const database = new DatabaseSync(file)
    database.exec(`PRAGMA journal_mode = WAL; CREATE TABLE "notes" ("id" INTEGER PRIMARY KEY, "text" TEXT);
      INSERT INTO "notes" VALUES (1, 'one')`)
    const processOptions = { file, identities: new FileIdentity(file).expected, busyTimeoutMs: 1000 }
    const pool = new ReaderPool({ processOptions, size: 2, timeoutMs: 60_000, ...options })
    try {
      await use({ pool, database, file })
    } finally {
      await pool.close()
      database.close()
    }
  })
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5)
}

test('the first read starts a process, each read sees every earlier commit, and an idle process ends', async () => {
  await withPool({ idleMs: 50 }, async ({ pool, database }) => {
    assert.deepEqual(pool.pids, [])
    const { results } = await pool.run('a', [...first, ...first])
    assert.deepEqual(results, [[['one']], [['one']]])
    for (let n = 0; n < 50; n++) {
      database.exec(`UPDATE "notes" SET "text" = '${n}'`)
      assert.deepEqual((await pool.run('a', first)).results, [[[`${n}`]]])
    }
    const [pid = 0] = pool.pids
    await until(() => pool.pids.length === 0)
    assert.equal(isAlive(pid), false)
    assert.deepEqual((await pool.run('a', first)).results, [[['49']]])
  })
})

test('all queries of a read share one snapshot, and none can write', async () => {
  await withPool({}, async ({ pool, database }) => {
    const long = {
      sql: 'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 300000) SELECT count(*) FROM c',
      values: [],
    }
    const read = pool.run('a', [...first, long, ...first])
    let isOver = false
    void read.finally(() => {
      isOver = true
    })
    for (let n = 0; !isOver; n++) {
      database.exec(`UPDATE "notes" SET "text" = '${n}'`)
      await sleep(1)
    }
    const [before, , after] = (await read).results
    assert.deepEqual(before, after)
    for (const sql of ['DELETE FROM "notes"', 'PRAGMA user_version = 7', 'DROP TABLE "notes"']) {
      await assert.rejects(pool.run('a', [{ sql, values: [] }]), /UNAVAILABLE|cannot answer/)
    }
    assert.equal(database.prepare('SELECT count(*) AS "n" FROM "notes"').get()?.n, 1)
  })
})

test('a read past its deadline is refused and its process killed and replaced, while other reads continue', async () => {
  // Long enough for a busy machine to start a process and answer the other reads.
  await withPool({ timeoutMs: 8000 }, async ({ pool }) => {
    const slow = assert.rejects(pool.run('a', endless), unavailable)
    await until(() => pool.pids.length === 1)
    const [pid = 0] = pool.pids
    for (let n = 0; n < 20; n++) assert.deepEqual((await pool.run('b', first)).results, [[['one']]])
    assert.equal(pool.counts.running, 1)
    await slow
    await until(() => !isAlive(pid))
    assert.deepEqual((await pool.run('a', first)).results, [[['one']]])
    const { timedOut, killed, done, running, waiting } = pool.counts
    assert.deepEqual(
      { timedOut, killed, done, running, waiting },
      { timedOut: 1, killed: 1, done: 21, running: 0, waiting: 0 },
    )
  })
})

test('the deadline includes the time in the queue, and an expired read is not run', async () => {
  await withPool({ size: 1, timeoutMs: 300 }, async ({ pool }) => {
    const reads = ['a', 'b', 'a', 'c'].map(caller => assert.rejects(pool.run(caller, endless), unavailable))
    await Promise.all(reads)
    assert.equal(pool.counts.timedOut, 4)
    assert.ok(pool.counts.killed <= 2, 'expired reads in the queue had no process')
    assert.equal(pool.counts.waiting, 0)
  })
})

test('a caller that floods the pool gets no more than its share, and other callers are answered meanwhile', async () => {
  await withPool({ maxWaitingPerCaller: 3, maxWaiting: 6 }, async ({ pool }) => {
    const flood = Array.from({ length: 10 }, () => pool.run('flood', endless).catch(error => error))
    const refused = await Promise.all(flood.slice(4))
    for (const error of refused) {
      assert.equal(error.code, 'UNAVAILABLE')
      assert.equal(error.message, 'Too many slow reads are waiting.')
    }
    assert.deepEqual(pool.counts.running, 1, 'the other process stays available to others')
    for (let n = 0; n < 5; n++) assert.deepEqual((await pool.run('quiet', first)).results, [[['one']]])
    assert.equal(pool.counts.waiting, 3)
    await pool.close()
    for (const error of await Promise.all(flood)) assert.equal(error.code, 'UNAVAILABLE')
  })
})

test('aborting a waiting read removes it from the queue, aborting a running read has no effect', async () => {
  await withPool({ size: 1 }, async ({ pool }) => {
    const [running, waiting] = [new AbortController(), new AbortController()]
    const answer = pool.run('a', first, running.signal)
    const dropped = pool.run('a', first, waiting.signal)
    running.abort()
    waiting.abort()
    await assert.rejects(dropped, { code: 'UNAVAILABLE' })
    assert.deepEqual((await answer).results, [[['one']]])
    await assert.rejects(pool.run('a', first, waiting.signal), { code: 'UNAVAILABLE' })
    const { done, waiting: left } = pool.counts
    assert.deepEqual({ done, left }, { done: 1, left: 0 })
  })
})

test('a read whose process exits is retried once and then refused', async () => {
  const causes: unknown[] = []
  await withPool({ onLost: cause => causes.push(cause) }, async ({ pool }) => {
    const read = pool.run('a', endless)
    const kill = async (): Promise<void> => {
      await until(() => pool.pids.length === 1)
      const [pid = 0] = pool.pids
      process.kill(pid, 'SIGKILL')
      await until(() => !pool.pids.includes(pid))
    }
    await Promise.all([assert.rejects(read, unavailable), kill().then(kill)])
    assert.deepEqual(causes, ['SIGKILL', 'SIGKILL'])
    assert.deepEqual((await pool.run('a', first)).results, [[['one']]])
    // The same for an idle process.
    const [idle = 0] = pool.pids
    process.kill(idle, 'SIGKILL')
    await until(() => pool.pids.length === 0)
    assert.deepEqual((await pool.run('a', first)).results, [[['one']]])
    assert.equal(pool.counts.killed, 0, 'the pool killed none of them')
  })
})

test('a read is refused while no process can be started, and answered once one can', async () => {
  await withFile(async file => {
    using database = new DatabaseSync(file)
    database.exec('PRAGMA journal_mode = WAL; CREATE TABLE "notes" ("id" INTEGER PRIMARY KEY)')
    const program = fileURLToPath(new URL('without-descriptors.ts', import.meta.url))
    const { stdout, stderr } = spawnSync(
      'sh',
      ['-c', 'ulimit -n 80; exec "$@"', 'sh', process.execPath, ...process.execArgv, program, file],
      { encoding: 'utf8', env: { ...process.env, NODE_TEST_CONTEXT: undefined } },
    )
    assert.equal(stdout, '{"first":"UNAVAILABLE","second":[[[1]]]}\n', stderr)
  })
})

for (const [failure, overrides] of [
  ['ENOENT', { execPath: '/nowhere/node' }],
  ['E2BIG', { file: 'x'.repeat(1_000_000) }],
] as const) {
  test(`a read is refused if starting its process fails with ${failure}, and the pool can still be closed`, async () => {
    const { execPath } = process
    const causes: unknown[] = []
    const processOptions = { file: 'x', identities: [], busyTimeoutMs: 1000, ...overrides }
    const pool = new ReaderPool({
      processOptions,
      size: 1,
      timeoutMs: 60_000,
      onLost: cause => causes.push(cause),
    })
    if ('execPath' in overrides) process.execPath = overrides.execPath
    try {
      await assert.rejects(pool.run('a', first), unavailable)
      assert.deepEqual(
        causes.map(cause => (cause as NodeJS.ErrnoException).code),
        [failure, failure],
      )
    } finally {
      process.execPath = execPath
      await pool.close()
    }
  })
}

test('a file that replaced the database is not read', async () => {
  await withPool({}, async ({ pool, file }) => {
    renameSync(file, `${file}.old`)
    writeFileSync(file, '')
    await assert.rejects(pool.run('a', first), /moved, replaced or removed/)
  })
})

test('a missing and a damaged table cause the same errors as without a process', async () => {
  await withPool({}, async ({ pool, database, file }) => {
    await assert.rejects(pool.run('a', [{ sql: 'SELECT * FROM "gone"', values: [] }]), {
      code: 'INTERNAL_ERROR',
    })
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    const handle = openSync(file, 'r+')
    writeSync(handle, Buffer.alloc(4096, 0xff), 0, 4096, 4096)
    closeSync(handle)
    await assert.rejects(pool.run('a', first), unavailable)
  })
})

test('reader processes end with their parent, even during a statement', async () => {
  await withFile(async file => {
    // Open until the end: with the last connection, SQLite removes the WAL, and a reader takes the file for another one.
    using database = new DatabaseSync(file)
    database.exec('PRAGMA journal_mode = WAL; CREATE TABLE "notes" ("id" INTEGER PRIMARY KEY)')
    const program = fileURLToPath(new URL('parent.ts', import.meta.url))
    const parent = fork(program, [file], {
      execArgv: process.execArgv.filter(option => option.startsWith('--conditions')),
    })
    const failed = once(parent, 'exit').then(([code]) => {
      throw new Error(`The parent ended with ${code}.`)
    })
    const [pids] = (await Promise.race([once(parent, 'message'), failed])) as [number[]]
    failed.catch(() => undefined)
    assert.equal(pids.length, 2)
    assert.ok(pids.every(isAlive))
    parent.kill('SIGKILL')
    await until(() => !pids.some(isAlive))
  })
})
