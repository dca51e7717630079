/**
 * A node with endless reactions, in a separate process: `node:test` tracks promises with async hooks, which break when code
 * is terminated.
 */
import { on } from '../../../src/index.ts'
import { databaseKinds } from '../../engine/store/databases.ts'
import { handler, type LooseContext, within } from './fixture.ts'

const events: string[] = []
const aborted: string[] = []

async function stuck({ event, signal, data }: LooseContext) {
  const title = String(event.data['title'])
  events.push(title)
  if (title === 'loop') for (;;);
  if (title === 'loop after a read') {
    await data['tasks']?.count()
    for (;;);
  }
  if (title === 'never') await new Promise(() => signal.addEventListener('abort', () => aborted.push(title)))
}

const [sqlite] = databaseKinds
if (sqlite === undefined) throw new Error('there is no database')
await within(sqlite, { reactions: { stuck: on('task.created', handler(stuck)) } }, async fixture => {
  const { task, runner, until, failures } = fixture
  runner({ timeoutMs: 2000 })
  for (const title of ['loop', 'loop after a read', 'never', 'fine']) await task(title)
  await until(() => failures.length >= 3 && events.includes('fine'), 'all have ended')
  console.log(JSON.stringify({ aborted, errors: failures.slice(0, 3).map(({ error }) => error) }))
})()
