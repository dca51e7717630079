/**
 * Actions without an end, in a process of its own: `node:test` follows every promise, and a process whose promises are
 * followed does not survive it when V8 ends code between two of them. Prints what became of each.
 */
import { checkModel } from '../../../src/model/check.ts'
import { user } from '../../../src/principal.ts'
import { openPostgres } from '../../../src/store/postgres.ts'
import { openSqlite } from '../../../src/store/sqlite.ts'
import { openBench } from '../../contract/rest/bench.ts'
import tracker from './tracker.ts'

const [url = ''] = process.argv.slice(2)

const bench = await openBench(checkModel(tracker), async model => {
  const store = url.startsWith('postgres')
    ? await openPostgres(model, { url })
    : openSqlite(model, { file: url })
  return { store, close: () => store.close() }
})
await bench.seed('users', { name: 'ann', email: 'ann@example.com' })
const ann = user(1, 'user', 'all')
const post = async (path: string, body: unknown) => {
  return (await bench.send({ method: 'POST', url: `/api/v1${path}`, body }, ann)).status
}
const found: unknown[] = []
for (const how of ['at_once', 'in_microtasks', 'with_data', 'after_data', 'in_rejections', 'in_caught']) {
  // Beside others, of the same commit.
  const all = await Promise.all([
    post('/projects', { name: 'before' }),
    post('/projects/loops', { how }),
    post('/projects', { name: 'behind' }),
  ])
  const { body } = await bench.send({ url: '/api/v1/projects?per_page=100&fields=name' }, ann)
  found.push([
    how,
    ...all,
    JSON.parse(String(body))
      .data.map(({ name }: { name: string }) => name)
      .join(' '),
  ])
}
await bench.close()
process.stdout.write(JSON.stringify(found))
