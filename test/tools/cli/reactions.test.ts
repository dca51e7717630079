/** `portico reactions` lists pending and abandoned runs; the running service carries out its requests. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { portico } from '../../system/processes/command.ts'
import { startProcess } from '../../system/processes/portico.ts'

const source = `
import { appendFileSync, existsSync } from 'node:fs'
import { anyone, collection, every, job, model, on, string } from 'portico'

export default model(
  { tasks: collection({ fields: { title: string() }, access: { read: anyone, create: anyone } }) },
  {
    reactions: {
      notified: on('task.created', ({ event, later }) => {
        if (!existsSync('mended')) throw new Error('not mended')
        later(new Date(), 'note', { text: event.data.title })
      }),
    },
    jobs: {
      note: job({ input: { text: string() }, run: ({ input }) => appendFileSync('notes', input.text + '\\n') }),
      nightly: every('day at 03:00', { timeZone: 'Europe/Berlin' }, () => undefined),
    },
  },
)
`

describe('portico reactions', () => {
  let folder = ''
  before(() => {
    folder = mkdtempSync(join(import.meta.dirname, '../../.test-reactions-'))
    writeFileSync(join(folder, 'model.ts'), source)
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  const environment = { DATABASE_URL: 'database.sqlite', PORTICO_MODEL: 'model.ts' }
  const run = async (...words: string[]) => {
    const { out, err } = await portico(['reactions', ...words], { folder, environment })
    return `${out}${err}`
  }
  const until = async (condition: () => Promise<boolean>) => {
    while (!(await condition())) await sleep(50)
  }

  it('lists, runs again and drops', { timeout: 120_000 }, async () => {
    const service = await startProcess({ folder, environment })
    try {
      for (const title of ['one', 'two']) {
        const { status } = await service.call('/api/v1/tasks', { method: 'POST', body: { title } })
        assert.equal(status, 201)
      }
      await until(async () => (await run('list')).split('not mended').length === 3)
      const list = await run('list')
      assert.match(list, /^name +on +events_behind +next$/m)
      assert.match(list, /^notified +task\.created +0 +–$/m)
      assert.match(list, /^note +later +– +–$/m)
      assert.match(list, /^nightly +day at 03:00 \(Europe\/Berlin\) +– +\d{4}-/m)
      const ids = [
        ...list.matchAll(/^(notified\/\d+) +waiting +tasks\/\d+ +[1-9] .*Error: not mended$/gm),
      ].map(([, id]) => id)
      assert.equal(ids.length, 2)
      assert.match(await run('skip', ids[0] ?? ''), /will be dropped/)
      assert.match(await run('retry', ids[1] ?? ''), /will be run again/)
      // Not before: a run may be retried automatically before the command has found it.
      writeFileSync(join(folder, 'mended'), '')
      // The service may have run it again before the file existed. Its next attempt could then be minutes away.
      await until(async () => {
        await run('retry', ids[1] ?? '')
        return !(await run('list')).includes('notified/')
      })
      const metrics = await (await fetch(`${service.url}/metrics`)).text()
      assert.match(metrics, /^portico_reaction_runs_skipped_total 1$/m)
      assert.match(metrics, /^portico_reaction_runner 1$/m)
      assert.match(await run('retry', 'notified/999'), /There is no run `notified\/999`/)
      assert.match(await run('skip', 'notified'), /The model has `notified`/)
      assert.match(await run('skip', 'gone'), /Nothing is stored for `gone`/)
    } finally {
      await service.end()
    }
  })

  it('forgets a reaction that the model no longer has', { timeout: 60_000 }, async () => {
    writeFileSync(join(folder, 'model.ts'), source.replaceAll('notified:', 'renamed:'))
    const service = await startProcess({ folder, environment })
    try {
      await until(async () => service.output().includes('a reaction is no longer in the model'))
      assert.match(await run('list'), /^notified +not in the model/m)
      assert.match(await run('skip', 'notified'), /Removed everything stored for notified/)
      await until(async () => !/^notified/m.test(await run('list')))
    } finally {
      await service.end()
    }
  })
})
