/** `once`: a key and its effect commit together, and take effect once over attempts, runs and kills. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once as occurrence } from 'node:events'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { service } from '../../../src/base/principal.ts'
import { createData, executeBy } from '../../../src/engine/logic/data/create-data.ts'
import { defaultOperationLimits } from '../../../src/engine/logic/operations/call.ts'
import { enqueueJob } from '../../../src/engine/logic/operations/later.ts'
import { integer, job } from '../../../src/index.ts'
import type { LogicDeclaration } from '../../../src/model/logic/logic.ts'
import { chosen } from '../../chosen.ts'
import { databaseKinds, plainDatabaseKinds } from '../../engine/store/databases.ts'
import { type Fixture, handler, type LooseContext, within } from './fixture.ts'
import { paying } from './once-killed.ts'

async function bodies({ model, run }: Fixture): Promise<readonly unknown[]> {
  const data = createData(
    { model, hooks: new Map(), execute: executeBy(run, defaultOperationLimits) },
    service,
  )
  return ((await data['notes']?.list()) ?? []).map(({ body }) => body)
}

/** Starts `count` runs of a job with the numbers from 1. */
async function start({ model, run, clock }: Fixture, name: string, count = 1): Promise<void> {
  const options = { model, now: clock.now(), depth: 0 }
  await run.transaction({
    principal: service,
    serial: undefined,
    *steps() {
      for (let n = 1; n <= count; n++) yield enqueueJob(new Date(clock.now()), name, { n }, options)
    },
  })
}

const numbered = (run: (context: LooseContext) => unknown): LogicDeclaration => ({
  jobs: { numbered: job({ input: { n: integer() }, run: handler(run) }) },
})

const day = 86_400_000

for (const kind of chosen(databaseKinds)) {
  describe(`once on ${kind.name}`, () => {
    it('concurrent calls with a key take effect once, and the others wait until it is committed', async () => {
      const results: { readonly repeated: boolean; readonly seen: unknown }[] = []
      const declared = numbered(async ({ once, data, input }) => {
        const { repeated } = await once('evt_1', inner =>
          inner['notes']?.create({ body: `by ${input['n']}` }),
        )
        results.push({ repeated, seen: await data['notes']?.count() })
      })
      await within(kind, declared, async fixture => {
        await start(fixture, 'numbered', 12)
        await fixture.runner().settled()
        assert.equal(results.length, 12)
        assert.equal(results.filter(({ repeated }) => !repeated).length, 1)
        assert.deepEqual([...new Set(results.map(({ seen }) => seen))], [1], 'the effect is committed')
        assert.equal((await bodies(fixture)).length, 1)
        assert.deepEqual(fixture.failures, [])
      })()
    })

    it('keys differ by their whole text, and other keys take effect', async () => {
      const results: boolean[] = []
      const long = 'k'.repeat(999)
      const keys = ['a', 'a ', 'A', 'ä', '["a"]', '\0', '\ud800', `${long}1`, `${long}2`]
      const declared = numbered(async ({ once }) => {
        for (const key of [...keys, ...keys]) {
          results.push((await once(key, data => data['notes']?.create({ body: 'once' }))).repeated)
        }
      })
      await within(kind, declared, async fixture => {
        await start(fixture, 'numbered')
        await fixture.runner().settled()
        assert.deepEqual(results, [...keys.map(() => false), ...keys.map(() => true)])
        assert.equal((await bodies(fixture)).length, keys.length)
      })()
    })

    it('code that throws does not use up its key, and a job that it started does not run', async () => {
      const echoed: number[] = []
      const declared = numbered(async ({ once, input, attempt, now }) => {
        if (Number(input['n']) > 1) return echoed.push(Number(input['n']))
        await once('key', async (data, { later }) => {
          await data['notes']?.create({ body: `attempt ${attempt}` })
          await later(now, 'numbered', { n: attempt + 1 })
          if (attempt === 1) throw new Error('on purpose')
        })
      })
      await within(kind, declared, async fixture => {
        await start(fixture, 'numbered')
        fixture.runner()
        await fixture.until(() => echoed.length > 0, 'the job of the second attempt has run', 1000)
        assert.deepEqual(await bodies(fixture), ['attempt 2'])
        assert.deepEqual(echoed, [3])
      })()
    })

    it('without a key, a run has its own: its next attempt repeats nothing, and another run takes effect', async () => {
      const results: string[] = []
      const declared = numbered(async ({ once, attempt, input }) => {
        const { repeated } = await once(data => data['notes']?.create({ body: `${input['n']}` }))
        results.push(`${input['n']}/${attempt} ${repeated}`)
        if (attempt === 1) throw new Error('on purpose')
      })
      await within(kind, declared, async fixture => {
        await start(fixture, 'numbered', 2)
        fixture.runner()
        await fixture.until(() => results.length === 4, 'both have run twice', 1000)
        assert.deepEqual(results.toSorted(), ['1/1 false', '1/2 true', '2/1 false', '2/2 true'])
        assert.deepEqual((await bodies(fixture)).toSorted(), ['1', '2'])
      })()
    })

    it('keys are kept for the time of the setting, then the call takes effect again', async () => {
      const results: boolean[] = []
      const declared = numbered(async ({ once }) => {
        results.push((await once('key', data => data['notes']?.create({ body: 'again' }))).repeated)
      })
      let now = Date.now()
      const clock = { now: () => now }
      const check = async (fixture: Fixture) => {
        const node = fixture.runner({ onceMs: 90 * day })
        for (const pauseMs of [0, 89 * day, 2 * day]) {
          now += pauseMs
          await fixture.clock.jump(pauseMs)
          await start(fixture, 'numbered')
          const expected = results.length + 1
          await fixture.until(() => results.length === expected, 'the job has run', 1000)
        }
        await fixture.stop(node)
        assert.deepEqual(results, [false, true, false])
        assert.equal((await bodies(fixture)).length, 2)
      }
      await within(kind, declared, check, now, clock)()
    })

    it('refuses keys that are no text, are empty or too long, and works in no other transaction', async () => {
      const errors: unknown[] = []
      const declared = numbered(async ({ once, data }) => {
        const create = () => data['notes']?.create({ body: 'never' })
        for (const key of ['', 'k'.repeat(1001), 7, null, {}]) {
          await once(key as string, create).catch(({ name, message }) => errors.push(`${name}: ${message}`))
        }
        await once('key', undefined as never).catch(({ message }) => errors.push(message))
        await data.transaction(async () => {
          await once('key', create).catch(({ message }) => errors.push(message))
          // What was refused has ended nothing.
          await create()?.catch(({ message }) => errors.push(message))
        })
        await once('outer', () => once('inner', create).catch(({ message }) => errors.push(message)))
      })
      await within(kind, declared, async fixture => {
        await start(fixture, 'numbered')
        await fixture.runner().settled()
        const isOpen =
          'A `data.transaction` is open: until it has ended, use the tools that it passes to its code.'
        assert.deepEqual(errors, [
          ...Array(5).fill('TypeError: once: the key must be a text of 1 to 1000 characters.'),
          'once: write `once(key, async data => { … })`.',
          isOpen,
          isOpen,
          isOpen,
        ])
        assert.deepEqual(await bodies(fixture), [])
      })()
    })
  })
}

for (const kind of plainDatabaseKinds) {
  describe(`once and kills on ${kind.name}`, () => {
    for (const killed of ['before', 'after']) {
      it(`a process that is killed ${killed} the commit: the next attempt makes the effect at most once`, async () => {
        const results: unknown[] = []
        await within(kind, paying(undefined, results), async (fixture, database) => {
          await start(fixture, 'pay')
          const program = join(import.meta.dirname, 'once-killed.ts')
          const node = spawn(
            process.execPath,
            ['--conditions=portico-source', program, database.url, killed],
            { stdio: ['ignore', 'ignore', 'inherit'] },
          )
          const [, signal] = await occurrence(node, 'close')
          assert.equal(signal, 'SIGKILL')
          // Faster, to shorten the wait for the lease.
          fixture.runner({ elapsed: () => 8 * performance.now() })
          await fixture.until(() => results.length > 0, 'the next attempt has run', 1000)
          assert.deepEqual(results, [{ repeated: killed === 'after' }])
          assert.deepEqual(await bodies(fixture), ['paid'])
        })()
      })
    }
  })
}
