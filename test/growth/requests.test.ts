/** No request makes a running service take longer than in proportion to its size. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { growthFault } from './measure.ts'
import { callsOf, requestInputs, send, type Target } from './requests.ts'
import { withTarget } from './target.ts'

let target: Target
let stop: () => void
let stopped: Promise<void>

before(async () => {
  await new Promise<void>((resolve, reject) => {
    stopped = withTarget(made => {
      target = made
      resolve()
      return new Promise(end => {
        stop = end
      })
    })
    stopped.catch(reject)
  })
})

after(async () => {
  stop()
  await stopped
})

test('requests of every size within the bounds are answered, and none as a fault of ours', async () => {
  const wrong: string[] = []
  for (const { name, bound, request } of requestInputs) {
    for (const size of [bound / 64, bound]) {
      const status = await send(target, request(size, target))
      if (status >= 500 || status === 413 || status === 431) wrong.push(`${name}: ${status}`)
    }
  }
  assert.deepEqual(wrong, [])
})

test('no request takes longer than in proportion to its size', async () => {
  const faults: string[] = []
  for (const input of callsOf(target)) {
    const fault = await growthFault(input)
    if (fault !== undefined) faults.push(fault)
  }
  assert.deepEqual(faults, [])
})
