/** Code of the model that does not return ends the process; other code is passed through, and reported if it is slow. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { owners, Slot, slotCount, slotMemory } from '../../src/base/watchdog/slots.ts'
import { createWatchdog, startWatchdog } from '../../src/base/watchdog/watchdog.ts'

const watchdog = createWatchdog()

test('the return value or the error of the code is passed on unchanged', () => {
  const value = {}
  assert.equal(
    watchdog.run('a', () => value),
    value,
  )
  for (const thrown of [undefined, null, 0, new Error('x')]) {
    const caught = (() => {
      try {
        return watchdog.run('a', () => {
          throw thrown
        })
      } catch (error) {
        return [error]
      }
    })()
    assert.deepEqual(caught, [thrown])
  }
  const deep = (): unknown => deep()
  assert.throws(() => watchdog.run('a', deep), RangeError)
})

test('`turn` runs the pending microtasks', async () => {
  await nextTurn()
  await new Promise<void>((resolve, reject) => {
    setImmediate(() => {
      try {
        const steps: number[] = []
        watchdog.turn('a', async () => {
          for (const step of [1, 2, 3]) {
            await null
            steps.push(step)
          }
        })
        assert.deepEqual(steps, [1, 2, 3])
        const nested = () => watchdog.turn('a', () => watchdog.run('b', () => 5))
        assert.equal(nested(), 5)
        resolve()
      } catch (error) {
        reject(error)
      }
    })
  })
  assert.equal(await Promise.resolve(3), 3)
})

test('slow code is reported', () => {
  const reported: [string, boolean][] = []
  const watched = createWatchdog({ slowMs: 100, onSlow: (place, ms) => reported.push([place, ms > 100]) })
  watched.run('quick', () => 1)
  watched.run('slow', () => {
    for (const until = performance.now() + 101; performance.now() < until; );
  })
  assert.deepEqual(reported, [['slow', true]])
})

test('a slot whose thread has ended within code is not within code', () => {
  const slot = new Slot(slotMemory(), 0)
  const isInside = () => slot.entries % 2 !== 0
  const claim = () => slot.claim(owners.worker)
  assert.ok(claim())
  slot.enter(1)
  const { entries } = slot
  slot.release()
  assert.equal(slot.entries, entries + 1)
  // From one that has entered code after its release.
  slot.enter(1)
  assert.ok(claim())
  assert.ok(!isInside())
  slot.thread = 5
  slot.enter(1)
  slot.releaseFrom(4)
  assert.ok(isInside() && !claim(), 'another thread has claimed it')
  slot.releaseFrom(5)
  assert.ok(!isInside() && claim())
  assert.equal(slot.thread, 0)
})

test('the copies of the module in a thread share its slot', async () => {
  const copy = new URL('../../src/base/watchdog/watchdog.ts?copy', import.meta.url)
  const { createWatchdog: createOther }: { createWatchdog: typeof createWatchdog } = await import(copy.href)
  const memory = startWatchdog()
  const slots = Array.from({ length: slotCount }, (_, index) => new Slot(memory, index))
  const claimed = () => slots.filter(({ owner }) => owner !== owners.nobody)
  const before = watchdog.run('a', claimed)
  assert.deepEqual(
    watchdog.run('a', () =>
      createOther().run('b', () => [claimed().length, before.filter(({ place }) => place === 'b').length]),
    ),
    [before.length, 1],
  )
})

const program = fileURLToPath(new URL('watched-process.ts', import.meta.url))

async function end(kind: string, options: readonly string[] = [], limitMs = 300) {
  const args = [...options, program, kind, String(limitMs)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const closed = new Promise<{ readonly code: number | null; readonly signal: string | null }>(resolve => {
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  const lines = stderr.split('\n').filter(line => line.startsWith('{"level":60'))
  return { ...(await closed), stdout, stderr, lines: lines.map(line => JSON.parse(line)) }
}

const message = 'code of the model does not return: the process ends with code 70'

for (const [kind, hasStack] of [
  ...['loop', 'caught', 'shadowed', 'callback', 'getter', 'microtasks', 'late', 'rejections'].map(
    name => [name, true] as const,
  ),
  ...['pattern', 'caught rejections', 'after others', 'nested', 'outer'].map(name => [name, true] as const),
  // Only the main thread can be inspected.
  ...['worker', 'worker of its own', 'a slot of a worker that has exited'].map(
    name => [name, false] as const,
  ),
] as const) {
  test(`endless code ends the process, with its place: ${kind}`, async () => {
    const { code, stdout, stderr, lines } = await end(kind)
    assert.equal(code, 70, stderr)
    assert.match(stdout, /^exit 70$/m)
    const [{ err, ...line }, ...others] = lines
    assert.deepEqual(others, [])
    assert.deepEqual(
      { ...line, time: 0, ms: line.ms >= 300 },
      { level: 60, time: 0, place: 'tasks.check', ms: true, msg: message },
    )
    if (hasStack)
      assert.match(err.stack, /^Error: tasks\.check\n {4}at .*\n(.*\n)*.*\(.*watched-process\.ts:\d+:\d+\)\n/)
    else assert.equal(err, undefined)
  })
}

test('native code, and code where no inspector is permitted, is killed', async () => {
  const permitted = ['--permission', '--allow-fs-read=*', '--allow-worker']
  for (const ended of await Promise.all([end('native'), end('loop', permitted)])) {
    assert.equal(ended.signal, 'SIGKILL', ended.stderr)
    assert.deepEqual(
      ended.lines.map(({ place, msg }) => [place, msg]),
      [['tasks.check', message]],
    )
  }
})

test('a worker that is terminated within code, or returns while the process is about to end, ends nothing', async () => {
  const ended = await Promise.all([end('terminated', [], 1000), end('returned meanwhile')])
  for (const { code, stdout, stderr, lines } of ended) {
    assert.deepEqual([code, lines], [0, []], stderr)
    assert.match(stdout, /^exit 0$/m)
  }
})

test('a thread that is not watched, since too many others are, is warned of once', async () => {
  const { code, stderr } = await end('no slot')
  assert.equal(code, 0, stderr)
  assert.equal(stderr.split('64 other threads run such code').length, 2, stderr)
})

test('code that returns in time, waits, or is debugged does not end the process', async () => {
  const ended = await Promise.all([
    ...['quick', 'nothing', 'waiting'].map(kind => end(kind)),
    end('lasting', ['--inspect=0']),
    end('nothing', ['--permission', '--allow-fs-read=*']),
  ])
  for (const { code, stdout, lines } of ended) assert.deepEqual([code, stdout, lines], [0, 'exit 0\n', []])
  assert.match(ended.at(-1)?.stderr ?? '', /Endless code of the model would block the service/)
})
