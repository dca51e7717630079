/** A process that writes or reads the title of an item on request of its parent. */
import { system } from '../../../../../src/base/principal.ts'
import { openSqlite } from '../../../../../src/engine/store/sqlite/sqlite.ts'
import { blog, Client } from '../../blog.ts'

interface Message {
  readonly id: number
  /** The title to write; null means to read it. */
  readonly title: string | null
}

const client = new Client(openSqlite(blog, { file: process.argv[2] ?? '' }))

process.on('message', async ({ id, title }: Message) => {
  if (title === null) {
    const item = (await client.item('posts', id, system)) as { readonly title: string }
    process.send?.(item.title)
    return
  }
  await client.update('posts', id, { title })
  process.send?.(title)
})
process.send?.('ready')
