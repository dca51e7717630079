/**
 * A process that writes until its disk is full and a little longer. It prints each write and the last read, one per
 * line.
 */
import { writeSync } from 'node:fs'
import { ApiError } from '../../../src/base/errors.ts'
import { user } from '../../../src/base/principal.ts'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import { blog, Client } from '../../engine/store/blog.ts'

const parallelWrites = 8
const writesAfterFull = 5

const [, , file = '', author = ''] = process.argv
const store = openSqlite(blog, { file })
const client = new Client(store)
const as = user(Number(author), 'user', 'all')

const print = (line: unknown) => writeSync(1, `${JSON.stringify(line)}\n`)

/** Whether it was stored. */
async function write(title: string): Promise<boolean> {
  try {
    const { id } = await client.create('posts', { title, body: 'x'.repeat(2000) }, as)
    print({ id, title })
    return true
  } catch (error) {
    print({ refused: error instanceof ApiError ? error.code : String(error), title })
    return false
  }
}

let full = 0
for (let round = 0; full < writesAfterFull && round < 10_000; round++) {
  const titles = Array.from({ length: parallelWrites }, (_, lane) => `round${round} lane${lane}`)
  const stored = await Promise.all(titles.map(write))
  if (!stored.every(Boolean)) full++
}
print({ read: await client.item('users', Number(author)) })
await store.close()
