/** A process that writes until it is killed, and prints each acknowledged write on a line. */
import { writeSync } from 'node:fs'
import { user } from '../../../src/base/principal.ts'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import { blog, Client } from '../../engine/store/blog.ts'

const [, , file = '', author = '', round = ''] = process.argv
const client = new Client(openSqlite(blog, { file }))
const as = user(Number(author), 'user', 'all')

/** Prints an acknowledged write: the id, and the title, or null after a deletion. */
function acknowledge(id: number, title: string | null): void {
  writeSync(1, `${JSON.stringify([id, title])}\n`)
}

/** Prints a change before it is sent: until it is acknowledged, either state is correct. */
function announce(id: number, before: string, after: string | null): void {
  writeSync(1, `${JSON.stringify([id, before, after])}\n`)
}

async function write(lane: number): Promise<void> {
  for (let count = 0; ; count++) {
    const title = `round${round} lane${lane} count${count}`
    const changed = `${title} changed`
    const changes = count % 3 === 1
    const { id } = await client.create('posts', { title, body: 'x'.repeat(200) }, as)
    acknowledge(id, title)
    if (changes) {
      announce(id, title, changed)
      await client.update('posts', id, { title: changed }, as)
      acknowledge(id, changed)
    }
    if (count % 5 === 4) {
      announce(id, changes ? changed : title, null)
      await client.remove('posts', id, as)
      acknowledge(id, null)
    }
  }
}

for (let lane = 0; lane < 16; lane++) void write(lane)
