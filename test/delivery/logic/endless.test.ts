/** Reactions that wait for ever are stopped, and others continue. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { on } from '../../../src/index.ts'
import { databaseKinds } from '../../engine/store/databases.ts'
import { handler, within } from './fixture.ts'

const [sqlite] = databaseKinds
if (sqlite === undefined) throw new Error('there is no database')

const events: string[] = []
const aborted: string[] = []

const stuck = handler(async ({ event, signal }) => {
  const title = String(event.data['title'])
  events.push(title)
  if (title === 'never') await new Promise(() => signal.addEventListener('abort', () => aborted.push(title)))
})

test(
  'a reaction that waits forever is stopped, and others continue',
  within(sqlite, { reactions: { stuck: on('task.created', stuck) } }, async fixture => {
    const { task, runner, until, failures } = fixture
    runner({ timeoutMs: 2000 })
    for (const title of ['never', 'fine']) await task(title)
    await until(() => failures.length >= 1 && events.includes('fine'), 'all have ended')
    assert.deepEqual(aborted, ['never'])
    assert.match(failures[0]?.error ?? '', /longer than 2 s/)
  }),
)
