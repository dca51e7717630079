/** `kill -9` under write load: what was acknowledged is there, nothing is half there, and the next start is quick. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openSqlite } from '../../src/store/sqlite.ts'
import { blog, Client, withFile } from '../store/blog.ts'
import { killRounds } from './rounds.ts'

const program = fileURLToPath(new URL('load.ts', import.meta.url))
const MAX_REOPEN_MS = 1000

/** The states that an item may be in, by id: several while a change was under way. */
type Acknowledged = Map<number, readonly (string | null)[]>

/** Runs the load until some writes were acknowledged and a moment more, then kills it. */
async function killedLoad(file: string, author: number, round: number): Promise<string> {
  const child = spawn(process.execPath, [program, file, String(author), String(round)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.setEncoding('utf8')
  const enough = randomInt(500, 8000)
  for await (const chunk of child.stdout) {
    output += chunk
    if (output.length > enough) child.kill('SIGKILL')
  }
  return output
}

function read(output: string, into: Acknowledged): void {
  // The last line may be cut short by the kill.
  for (const line of output.slice(0, output.lastIndexOf('\n') + 1).split('\n')) {
    if (line === '') continue
    const [id, ...states] = JSON.parse(line) as [number, ...(string | null)[]]
    into.set(id, states)
  }
}

interface Post {
  readonly id: number
  readonly title: string
}

function check(file: string, acknowledged: Acknowledged): void {
  const database = new DatabaseSync(file)
  try {
    const posts = database.prepare('SELECT id, title FROM posts').all() as unknown as Post[]
    const titles = new Map(posts.map(({ id, title }) => [id, title]))
    for (const [id, states] of acknowledged) {
      const found = titles.get(id) ?? null
      assert.ok(states.includes(found), `item ${id} is ${found}, acknowledged was ${states.join(' or ')}`)
    }
    assert.equal(database.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
    assert.deepEqual(database.prepare('PRAGMA foreign_key_check').all(), [])
    const total = database.prepare(`SELECT n FROM _totals WHERE collection = 'posts'`).get()
    assert.equal(total?.n, posts.length)
    checkEvents(database, titles)
    checkSearch(database, posts)
  } finally {
    database.close()
  }
}

/** The log, played from its beginning, gives the rows. */
function checkEvents(database: DatabaseSync, titles: ReadonlyMap<number, string>): void {
  const played = new Map<number, string>()
  const events = database.prepare(
    `SELECT item_id, kind, data FROM _events WHERE collection = 'posts' ORDER BY id`,
  )
  for (const { item_id, kind, data } of events.iterate()) {
    if (kind === 'deleted') played.delete(Number(item_id))
    else played.set(Number(item_id), JSON.parse(String(data)).title)
  }
  assert.deepEqual(played, new Map(titles))
}

function checkSearch(database: DatabaseSync, posts: readonly Post[]): void {
  const indexed = database.prepare('SELECT rowid FROM _search_posts ORDER BY rowid').all()
  assert.deepEqual(
    indexed.map(row => row.rowid),
    posts.map(post => post.id).toSorted((a, b) => a - b),
  )
  const last = posts.at(-1)
  if (last === undefined) return
  const words = last.title.split(' ').map(word => `"${word}"`)
  const found = database
    .prepare('SELECT rowid FROM _search_posts WHERE _search_posts MATCH ?')
    .all(words.join(' '))
  assert.ok(found.some(row => row.rowid === last.id))
}

test(`${killRounds()} kills under write load lose nothing that was acknowledged`, async context => {
  await withFile(async file => {
    const acknowledged: Acknowledged = new Map()
    const first = openSqlite(blog, { file })
    const author = await new Client(first).create('users', { name: 'Ann', email: 'ann@example.com' })
    await first.close()
    let slowest = 0
    for (let round = 0; round < killRounds(); round++) {
      read(await killedLoad(file, author.id, round), acknowledged)
      const before = performance.now()
      const store = openSqlite(blog, { file })
      await new Client(store).item('users', author.id)
      slowest = Math.max(slowest, performance.now() - before)
      await store.close()
      check(file, acknowledged)
    }
    assert.ok(acknowledged.size > killRounds())
    // Not a measure of speed: a start that recovers by reading everything would take much longer.
    assert.ok(slowest < MAX_REOPEN_MS, `a start took ${slowest} ms`)
    context.diagnostic(`${acknowledged.size} acknowledged items, slowest start ${slowest.toFixed(1)} ms`)
  })
})
