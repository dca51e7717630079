/** Code that fails or is slow is logged with its place, but not revealed to clients. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiError } from '../../../src/base/errors.ts'
import { system } from '../../../src/base/principal.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import { createPlan } from '../../../src/engine/plan/system-plans.ts'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import { anyone, collection, model, string } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { Declaration } from '../../../src/model/declaration.ts'
import { createLog } from '../../../src/server/observability/log.ts'
import { loggedWatchdog } from '../../../src/server/serve/watchdog.ts'

function busy(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

const logged = checkModel(
  model({
    tasks: collection({
      fields: { title: string() },
      prepare({ next }: { readonly next: { readonly title?: unknown } }) {
        if (next.title === 'throws') throw new TypeError('x is not a function')
        if (next.title === 'null') throw null
        if (next.title === 'promise') return Promise.resolve({}) as never
        if (next.title === 'slow') busy(60)
        return {}
      },
      access: { read: anyone },
    }),
  }) as Declaration,
)

test('a failure is logged with its place and cause, and slow code at most once a minute', async () => {
  const lines: string[] = []
  const { logger } = createLog({ logLevel: 'info' }, { write: line => void lines.push(line) })
  let clock = 0
  const watchdog = loggedWatchdog({ 'logic.limits': { code: 10_000 } }, logger, () => clock)
  const store = openSqlite(logged, { file: ':memory:', watchdog })
  const guard = createGuard(logged)
  const create = (title: string) => store.write(guard(createPlan('tasks', { title }, {}), system))
  try {
    const causes: (readonly unknown[])[] = []
    for (const title of ['throws', 'null', 'promise']) {
      await create(title).catch((error: ApiError) => {
        assert.equal(error.code, 'INTERNAL_ERROR')
        assert.doesNotMatch(error.message, /tasks|function/)
        const fault = error.cause as Error
        causes.push([fault.message, fault.cause instanceof TypeError ? fault.cause.message : fault.cause])
        logger.error({ err: error }, 'request failed')
      })
    }
    assert.deepEqual(causes, [
      ['tasks.prepare has failed.', 'x is not a function'],
      ['tasks.prepare has failed.', null],
      ['tasks.prepare returned a promise: it runs within the write, and cannot wait.', undefined],
    ])
    assert.match(lines[0] ?? '', /tasks\.prepare has failed.*x is not a function.*write-logic-log\.test\.ts/)
    lines.length = 0
    for (clock of [0, 1000, 59_999, 60_000]) await create('slow')
    const slow = lines.map(line => JSON.parse(line)).filter(({ place }) => place === 'tasks.prepare')
    assert.equal(slow.length, 2)
    assert.ok(slow.every(({ ms, level }) => ms >= 60 && level === 40))
  } finally {
    await store.close()
  }
})
