/**
 * Endless actions, in a separate process: `node:test` tracks every promise with async hooks, and such a process crashes
 * when V8 terminates code between two promises. Prints the outcome of each action.
 */

import { user } from '../../../../src/base/principal.ts'
import { openPostgres } from '../../../../src/engine/store/postgres/postgres.ts'
import { openSqlite } from '../../../../src/engine/store/sqlite/sqlite.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { openHarness } from '../../../api/contract/rest/harness.ts'
import tracker from './tracker.ts'

const [url = ''] = process.argv.slice(2)

const harness = await openHarness(checkModel(tracker), async model => {
  const store = url.startsWith('postgres')
    ? await openPostgres(model, { url })
    : openSqlite(model, { file: url })
  return { store, close: () => store.close() }
})
await harness.seed('users', { name: 'ann', email: 'ann@example.com' })
const ann = user(1, 'user', 'all')
const post = async (path: string, body: unknown) => {
  return (await harness.send({ method: 'POST', url: `/api/v1${path}`, body }, ann)).status
}
const outcomes: unknown[] = []
for (const how of ['at_once', 'in_microtasks', 'with_data', 'after_data', 'in_rejections', 'in_caught']) {
  // Together with other writes of the same commit.
  const all = await Promise.all([
    post('/projects', { name: 'before' }),
    post('/projects/loops', { how }),
    post('/projects', { name: 'behind' }),
  ])
  const { body } = await harness.send({ url: '/api/v1/projects?per_page=100&fields=name' }, ann)
  outcomes.push([
    how,
    ...all,
    JSON.parse(String(body))
      .data.map(({ name }: { name: string }) => name)
      .join(' '),
  ])
}
await harness.close()
process.stdout.write(JSON.stringify(outcomes))
