/** The polling interval of a device (RFC 8628, 3.2 and 3.5), whichever node it polls. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isTooFast, pollIntervalSeconds } from '../../../../src/identity/server/tokens/device-polling.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import blog from '../../../models/blog.ts'
import { type App, clientCredentials, type Fixture, post, withFixture } from '../server.ts'

const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'

async function startDeviceFlow({ url }: Fixture, app: App) {
  const { json } = await post(`${url}/oauth/device`, { scope: 'read:post', ...clientCredentials(app) })
  return { interval: json.interval, device_code: String(json.device_code) }
}

async function poll({ url }: Fixture, app: App, device_code: string): Promise<unknown> {
  const { status, json } = await post(`${url}/oauth/token`, {
    grant_type,
    device_code,
    ...clientCredentials(app),
  })
  assert.equal(status, 400)
  return json.error
}

/** Well below the interval, for machines on which requests take long. */
const maxDurationMs = 3000
const attempts = 8

/** The result of `request`, repeated until it takes less than that. */
async function quickly<T>(request: () => Promise<T>): Promise<T> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const begun = performance.now()
    const answer = await request()
    if (performance.now() - begun < maxDurationMs) return answer
  }
  throw new Error('the machine is too slow to poll twice within the interval')
}

test('a device learns the interval, and gets slow_down when it polls too soon', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const twice = await quickly(async () => {
      const { interval, device_code } = await startDeviceFlow(fixture, app)
      assert.equal(interval, pollIntervalSeconds)
      return [await poll(fixture, app, device_code), await poll(fixture, app, device_code)]
    })
    assert.deepEqual(twice, ['authorization_pending', 'slow_down'])
    // Exactly one of several concurrent polls is in time, whichever nodes they reach.
    const answers = await quickly(async () => {
      const { device_code } = await startDeviceFlow(fixture, app)
      return Promise.all(Array.from({ length: 9 }, () => poll(fixture, app, device_code)))
    })
    assert.equal(answers.filter(error => error === 'authorization_pending').length, 1)
    assert.equal(answers.filter(error => error === 'slow_down').length, 8)
    assert.equal(await poll(fixture, app, 'x'.repeat(43)), 'invalid_grant')
    // The interval is stored, for other nodes and later starts.
    const store = await fixture.deployment.openStore(checkModel(blog))
    const polls = await store.records.all('DevicePoll')
    await store.close()
    assert.ok(polls.some(({ payload }) => JSON.parse(payload).intervalMs === 9 * pollIntervalSeconds * 1000))
  })
})

test('a refused device request has the members of an error, and no interval', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const requests = [
      { scope: 'read:post', client_id: app.client_id, client_secret: 'wrong' },
      { scope: 'nonsense', ...clientCredentials(app) },
    ]
    for (const request of requests) {
      const { json, text } = await post(`${fixture.url}/oauth/device`, request)
      assert.ok(typeof json.error === 'string' && !('interval' in json), text)
    }
  })
})

test('each poll that comes too soon adds five seconds to the interval', async () => {
  await withFixture({}, async ({ deployment }) => {
    const store = await deployment.openStore(checkModel(blog))
    try {
      const begun = Date.now()
      const pollAt = (seconds: number) => isTooFast(store.records, 'a code', 600_000, begun + seconds * 1000)
      const polls: readonly (readonly [seconds: number, tooFast: boolean])[] = [
        [0, false],
        [5, false],
        [10.1, false],
        [12, true],
        // Ten seconds are required after the last one.
        [21, true],
        // Now fifteen.
        [36, false],
        [50, true],
        [70, false],
      ]
      for (const [seconds, tooFast] of polls) assert.equal(await pollAt(seconds), tooFast, `${seconds} s`)
    } finally {
      await store.close()
    }
  })
})
