/** A process that writes a title to an item, or reads it, when its parent says so. */
import { system } from '../../../../src/principal.ts'
import { openSqlite } from '../../../../src/store/sqlite.ts'
import { blog, Client } from '../../blog.ts'

interface Message {
  readonly id: number
  /** The title to write; null: read it. */
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
