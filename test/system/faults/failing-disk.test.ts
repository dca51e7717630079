/** A disk that fails for a while: no false acknowledgement, and the service recovers without a restart. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { withFile } from '../../engine/store/blog.ts'
import { type Process, startProcess } from '../processes/portico.ts'
import { strace } from './trace.ts'

const key = 'k'.repeat(32)
const writerCount = 8
/** Enough for several checkpoints, which SQLite runs after 1,000 pages. */
const rounds = 120

/** By title: the id of an acknowledged post, or the refusal. */
type Results = Map<string, number | string>

async function sendWrites(service: Process): Promise<Results> {
  const results: Results = new Map()
  const lane = async (index: number) => {
    for (let round = 0; round < rounds; round++) {
      const title = `lane${index} round${round}`
      const body = { title, body: 'x'.repeat(3000) }
      const answer = await service.call('/api/v1/posts', { method: 'POST', key, body })
      results.set(title, answer.status === 201 ? Number(answer.json.id) : `${answer.status} ${answer.code}`)
    }
  }
  await Promise.all(Array.from({ length: writerCount }, (_, index) => lane(index)))
  return results
}

interface Post {
  readonly id: number
  readonly title: string
}

function titlesIn(file: string): ReadonlySet<unknown> {
  const database = new DatabaseSync(file)
  try {
    const rows = database.prepare('SELECT title FROM posts').all()
    assert.equal(database.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
    return new Set(rows.map(row => row.title))
  } finally {
    database.close()
  }
}

/** Every acknowledged post exists, no refused one does, and the event log agrees. */
function assertIntact(file: string, results: Results): void {
  const database = new DatabaseSync(file)
  try {
    const posts = database.prepare('SELECT id, title FROM posts').all() as unknown as Post[]
    const acknowledged = [...results].filter(([, result]) => typeof result === 'number')
    assert.deepEqual(new Map(posts.map(({ id, title }) => [title, id])), new Map(acknowledged))
    assert.equal(database.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
    const events = database.prepare(`SELECT count(*) AS n FROM _events WHERE collection = 'posts'`).get()
    assert.equal(events?.n, posts.length)
  } finally {
    database.close()
  }
}

/** Waits for readiness; until then `/readyz` must state the reason. */
async function untilReady(service: Process): Promise<void> {
  for (const end = performance.now() + 120_000; ; await wait(100)) {
    const { status, text } = await service.call('/readyz')
    if (status === 200) return
    assert.match(text, /Changes cannot be stored: the disk (fails|is full)\./)
    assert.ok(performance.now() < end, 'the service does not recover')
  }
}

/** Runs a service whose system calls fail as `inject` says, on existing files. */
async function loadWhile(file: string, failing: string, inject: string): Promise<Results> {
  const environment = {
    DATABASE_URL: file,
    PORTICO_ADMIN_API_KEY: key,
    PORTICO_RATE_LIMIT: 'off',
    LOG_LEVEL: 'info',
  }
  const before = await startProcess({ environment })
  await before.end()
  // Opens the log in a separate call, because strace must know its path.
  const reader = new DatabaseSync(file)
  reader.prepare('SELECT count(*) FROM posts').get()
  const call = inject.split(':', 1)[0]
  const output = `${file}.trace`
  const options = ['-e', `trace=${call}`, '-P', failing, '-e', `inject=${inject}`]
  const service = await startProcess({ environment, wrapper: strace(output, options) })
  try {
    const results = await sendWrites(service)
    const read = await service.call('/api/v1/posts?per_page=1')
    assert.equal(read.status, 200)
    await untilReady(service)
    const body = { title: 'when it works again' }
    const answer = await service.call('/api/v1/posts', { method: 'POST', key, body })
    assert.equal(answer.status, 201, answer.text)
    return results.set(body.title, Number(answer.json.id))
  } finally {
    await service.end('SIGKILL')
    reader.close()
    assert.match(readFileSync(output, 'latin1'), /\(INJECTED\)/)
  }
}

test('a failed sync of the file after a partial checkpoint ends the process without data loss', () =>
  withFile(async file => {
    const environment = { DATABASE_URL: file, PORTICO_ADMIN_API_KEY: key, PORTICO_RATE_LIMIT: 'off' }
    const before = await startProcess({ environment })
    await before.end()
    const inject = ['-e', 'trace=fsync', '-P', file, '-e', 'inject=fsync:error=EIO:when=1+']
    const service = await startProcess({ environment, wrapper: strace(`${file}.trace`, inject) })
    const results: Results = new Map()
    const write = async (title: string) => {
      const body = { title, body: 'x'.repeat(9000) }
      const answer = await service.call('/api/v1/posts', { method: 'POST', key, body })
      assert.equal(answer.status, 201, answer.text)
      results.set(title, Number(answer.json.id))
    }
    const reader = new DatabaseSync(file)
    for (let count = 0; count < 20; count++) await write(`before ${count}`)
    reader.exec('BEGIN')
    reader.prepare('SELECT count(*) FROM posts').get()
    const log = () => reader.prepare('PRAGMA wal_checkpoint(NOOP)').get()
    // Over 1,000 pages, of which those are copied that the open reader does not need.
    for (let count = 0; count < 350; count++) await write(`meanwhile ${count}`)
    reader.exec('COMMIT')
    const { log: pages, checkpointed } = log() ?? {}
    assert.ok(Number(checkpointed) > 0 && Number(checkpointed) < Number(pages), `${checkpointed} of ${pages}`)
    let fault: unknown
    for (let count = 0; fault === undefined && count < 100; count++) {
      await write(`after ${count}`).catch(error => {
        fault = error
      })
    }
    assert.match(String(fault), /fetch failed/)
    assert.match(service.output(), /a sync of the database file has failed/)
    reader.close()
    const again = await startProcess({ environment })
    assert.equal((await again.call('/readyz')).status, 200)
    await again.end()
    const titles = titlesIn(file)
    assert.deepEqual(
      [...results.keys()].filter(title => !titles.has(title)),
      [],
    )
  }))

const cases = [
  { what: 'syncs of the log fail', of: '-wal', inject: 'fsync:error=EIO:when=20..26', refuses: true },
  {
    what: 'the disk is full for the log',
    of: '-wal',
    inject: 'pwrite64:error=ENOSPC:when=200..260',
    refuses: true,
  },
  { what: 'writes to the log fail', of: '-wal', inject: 'pwrite64:error=EIO:when=200..208', refuses: true },
  { what: 'syncs of the file fail', of: '', inject: 'fsync:error=EIO:when=1..3', refuses: false },
  {
    what: 'the disk is full for the file',
    of: '',
    inject: 'pwrite64:error=ENOSPC:when=1..300',
    refuses: false,
  },
] as const

for (const { what, of, inject, refuses } of cases) {
  test(`while ${what}, ${refuses ? 'writes are refused as UNAVAILABLE, then stored' : 'writes are stored regardless'}, and nothing is lost`, () =>
    withFile(async file => {
      const results = await loadWhile(file, `${file}${of}`, inject)
      const refused = [...results.values()].filter(result => typeof result === 'string')
      assert.deepEqual([...new Set(refused)], refuses ? ['503 UNAVAILABLE'] : [])
      const environment = { DATABASE_URL: file, PORTICO_ADMIN_API_KEY: key }
      const again = await startProcess({ environment })
      try {
        const created = await again.call('/api/v1/posts', { method: 'POST', key, body: { title: 'again' } })
        assert.equal(created.status, 201)
        results.set('again', Number(created.json.id))
      } finally {
        await again.end()
      }
      assertIntact(file, results)
    }))
}
