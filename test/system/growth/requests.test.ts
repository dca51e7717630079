/** No request makes a running service take more than linear time. */
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
    stopped = withTarget(opened => {
      target = opened
      resolve()
      return new Promise(resolve => {
        stop = resolve
      })
    })
    stopped.catch(reject)
  })
})

after(async () => {
  stop()
  await stopped
})

test('requests of every size within the limits cause no 5xx, and none is refused as too large', async () => {
  const wrong: string[] = []
  for (const { name, bound, request } of requestInputs) {
    for (const size of [bound / 64, bound]) {
      const status = await send(target, request(size, target))
      if (status >= 500 || status === 413 || status === 431) wrong.push(`${name}: ${status}`)
    }
  }
  assert.deepEqual(wrong, [])
})

test('no request takes more than linear time', async () => {
  const faults: string[] = []
  for (const input of callsOf(target)) {
    const fault = await growthFault(input)
    if (fault !== undefined) faults.push(fault)
  }
  assert.deepEqual(faults, [])
})
