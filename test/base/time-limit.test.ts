/** Endless code is terminated at its time limit, and its caller continues. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { createTimeLimit, TimeLimitError } from '../../src/base/time-limit.ts'

const limit = createTimeLimit({ limitMs: 50 })

const endless: Readonly<Record<string, () => unknown>> = {
  'a loop': () => {
    for (;;);
  },
  'a loop that catches': () => {
    for (;;) {
      try {
        for (;;);
      } catch {}
    }
  },
  'a regular expression': () => /^(a+)+$/.test(`${'a'.repeat(50)}b`),
  'a callback of a built-in function': () =>
    JSON.parse('[1]', () => {
      for (;;);
    }),
  'a getter': () =>
    JSON.stringify({
      get value() {
        for (;;);
      },
    }),
}

for (const [name, work] of Object.entries(endless)) {
  test(`${name} is terminated`, () => {
    assert.throws(() => limit.run('tasks.prepare', work), {
      constructor: TimeLimitError,
      message: 'tasks.prepare was ended after 50 ms.',
    })
    assert.equal(
      limit.run('tasks.prepare', () => 1),
      1,
    )
  })
}

test('the return value or the error of the code is passed on unchanged', () => {
  const value = {}
  assert.equal(
    limit.run('a', () => value),
    value,
  )
  for (const thrown of [undefined, null, 0, new Error('x')]) {
    const caught = (() => {
      try {
        return limit.run('a', () => {
          throw thrown
        })
      } catch (error) {
        return [error]
      }
    })()
    assert.deepEqual(caught, [thrown])
  }
  const deep = (): unknown => deep()
  assert.throws(() => limit.run('a', deep), RangeError)
})

test('a nested limit terminates only the inner code', () => {
  const outer = createTimeLimit({ limitMs: 5000 })
  const inner = () => limit.run('inner', endless['a loop'] ?? assert.fail())
  assert.equal(
    outer.run('outer', () => {
      assert.throws(inner, TimeLimitError)
      return 7
    }),
    7,
  )
})

test('`turn` runs the pending microtasks, and terminates endless ones', async () => {
  await nextTurn()
  await new Promise<void>(resolve => {
    setImmediate(() => {
      const steps: number[] = []
      limit.turn('a', async () => {
        for (const step of [1, 2, 3]) {
          await null
          steps.push(step)
        }
      })
      assert.deepEqual(steps, [1, 2, 3])
      const chain = async () => {
        for (;;) await null
      }
      assert.throws(() => limit.turn('a', chain), TimeLimitError)
      const late = async () => {
        await null
        for (;;);
      }
      assert.throws(() => limit.turn('a', late), TimeLimitError)
      const nested = () => limit.turn('a', () => limit.run('b', () => 5))
      assert.equal(nested(), 5)
      resolve()
    })
  })
  assert.equal(await Promise.resolve(3), 3)
})

test('slow code is reported', () => {
  const reported: [string, boolean][] = []
  const watched = createTimeLimit({ slowMs: 100, onSlow: (place, ms) => reported.push([place, ms > 100]) })
  watched.run('quick', () => 1)
  watched.run('slow', () => {
    for (const until = performance.now() + 101; performance.now() < until; );
  })
  assert.deepEqual(reported, [['slow', true]])
})

const inWorker = `
  import { parentPort } from 'node:worker_threads'
  import { createTimeLimit } from '${new URL('../../src/base/time-limit.ts', import.meta.url)}'
  const limit = createTimeLimit({ limitMs: 50 })
  try { limit.run('a', () => { for (;;); }) } catch (error) { parentPort.postMessage([error.message, limit.run('a', () => 1)]) }
`

test('the limit applies in worker threads', async () => {
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(inWorker)}`))
  const [message] = await new Promise<unknown[]>((resolve, reject) => {
    worker.once('message', value => resolve([value]))
    worker.once('error', reject)
  })
  assert.deepEqual(message, ['a was ended after 50 ms.', 1])
  await worker.terminate()
})

const unbounded = `
  import { createTimeLimit } from '${new URL('../../src/base/time-limit.ts', import.meta.url)}'
  const causes = []
  const limit = createTimeLimit({ onUnbounded: cause => causes.push(cause.code) })
  limit.run('a', () => 1)
  console.log(JSON.stringify([limit.run('a', () => 2), causes]))
`

test('where code cannot be terminated, this is reported once, and the code runs without a limit', () => {
  const args = ['--permission', '--allow-fs-read=*', '--input-type=module', '--eval', unbounded]
  const printed = execFileSync(process.execPath, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  assert.deepEqual(JSON.parse(printed), [2, ['ERR_ACCESS_DENIED']])
})
