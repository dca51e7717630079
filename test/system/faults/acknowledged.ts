/** Checks a database of posts after a fault: every acknowledged write exists, and none is partial. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'

/** The possible titles of each post, by id: several while a change was in progress; null: deleted. */
export type AcknowledgedTitles = Map<number, readonly (string | null)[]>

interface Post {
  readonly id: number
  readonly title: string
}

/** `searchable`: whether the model of the file searches posts. */
export function assertIntact(
  file: string,
  acknowledged: AcknowledgedTitles,
  { searchable = true } = {},
): void {
  const database = new DatabaseSync(file)
  try {
    const posts = database.prepare('SELECT id, title FROM posts').all() as unknown as Post[]
    const titles = new Map(posts.map(({ id, title }) => [id, title]))
    for (const [id, states] of acknowledged) {
      const title = titles.get(id) ?? null
      assert.ok(states.includes(title), `item ${id} is ${title}, acknowledged was ${states.join(' or ')}`)
    }
    assert.equal(database.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
    assert.deepEqual(database.prepare('PRAGMA foreign_key_check').all(), [])
    const total = database.prepare(`SELECT n FROM _totals WHERE collection = 'posts'`).get()
    assert.equal(total?.n, posts.length)
    checkEvents(database, titles)
    if (searchable) checkSearch(database, posts)
  } finally {
    database.close()
  }
}

/** Replaying the event log gives the rows. */
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
  const matches = database
    .prepare('SELECT rowid FROM _search_posts WHERE _search_posts MATCH ?')
    .all(words.join(' '))
  assert.ok(matches.some(row => row.rowid === last.id))
}
