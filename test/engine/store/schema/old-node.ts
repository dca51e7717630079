/** A node of the older model. It writes until its parent sends `stop`, then reports its writes and failures. */
import { openPostgres } from '../../../../src/engine/store/postgres/postgres.ts'
import { openSqlite } from '../../../../src/engine/store/sqlite/sqlite.ts'
import { Client } from '../blog.ts'
import { older } from './rolling-models.ts'

const location = process.argv[2] ?? ''
const store = location.startsWith('postgres:')
  ? await openPostgres(older, { url: location, connections: 4, autoMigrate: false })
  : openSqlite(older, { file: location, autoMigrate: false })
const client = new Client(store, older)
const failures = new Map<string, number>()
let writes = 0
let isStopped = false

async function attempt<T>(write: () => Promise<T>): Promise<T | undefined> {
  try {
    const result = await write()
    writes++
    return result
  } catch (error) {
    const { cause } = error as { cause?: unknown }
    const words = `${error} ${cause ?? ''}`
    failures.set(words, (failures.get(words) ?? 0) + 1)
    return undefined
  }
}

process.on('message', message => {
  if (message === 'stop') isStopped = true
  else process.send?.({ writes, failures: [...failures] })
})
process.send?.('ready')
for (let n = 0; !isStopped; n++) {
  const created = await attempt(() => client.create('notes', { title: `of the old node ${n}`, stars: n }))
  const id = created?.id ?? 1
  await attempt(() => client.update('notes', id, { title: `changed by the old node ${n}` }))
  if (created !== undefined && n % 5 === 0) await attempt(() => client.remove('notes', id))
}
await store.close()
process.send?.({ writes, failures: [...failures] })
process.disconnect?.()
