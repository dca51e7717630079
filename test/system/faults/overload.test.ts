/**
 * A process under ten times the load that it can serve. Limits are wide, because other tests run on the same machine.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Second } from '../../../bench/load/flood.ts'
import { flood, percentile } from '../../../bench/load/overload.ts'
import { generateKey } from '../../../src/identity/keys/key.ts'
import { inheritedEnvironment } from '../processes/environment.ts'
import { programOfTestModels } from '../processes/program.ts'

const modelFile = fileURLToPath(new URL('../../models/blog.ts', import.meta.url))
const postCount = 100

interface RunningService {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** A metric of `/metrics`. */
  metric(name: string): Promise<number>
  readonly log: readonly string[]
}

async function withProcess(use: (running: RunningService) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-overload-'))
  const key = generateKey()
  const child = spawn(process.execPath, [...programOfTestModels, 'start'], {
    env: {
      ...inheritedEnvironment,
      PORT: '0',
      HOST: '127.0.0.1',
      DATABASE_URL: join(folder, 'x.db'),
      PORTICO_MODEL: modelFile,
      PORTICO_ADMIN_API_KEY: key,
      PORTICO_RATE_LIMIT: 'off',
      PORTICO_CACHE_SIZE: '0 B',
      // Sixteen requests at once stay below it on a tenth of a processor, too.
      PORTICO_MAX_DELAY: '1 s',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exit = once(child, 'exit')
  try {
    const log: string[] = []
    const listening = Promise.withResolvers<string>()
    createInterface(child.stdout).on('line', line => {
      if (!line.includes('"msg":"request"')) log.push(line)
      const [, url] = /listening on (http:\S+?)"/.exec(line) ?? []
      if (url !== undefined) listening.resolve(url)
    })
    const url = await listening.promise
    const metric = async (name: string) => {
      const text = await (await fetch(`${url}/metrics`)).text()
      const line = text.split('\n').find(line => line.startsWith(`${name} `))
      assert.ok(line, name)
      return Number(line.split(' ')[1])
    }
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
    await use({ url, headers, metric, log })
  } finally {
    child.kill('SIGTERM')
    await exit
    rmSync(folder, { recursive: true, force: true })
  }
}

const cpu = 'process_cpu_seconds_total'
const servedCount = (seconds: readonly Second[]) =>
  seconds.reduce((sum, second) => sum + second.served.length, 0)

/** Sends requests that must never be refused until `isOver`; returns the slowest response time. */
async function slowestResponse(url: string, isOver: () => boolean): Promise<number> {
  let longest = 0
  while (!isOver()) {
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      const start = performance.now()
      assert.equal((await fetch(url + path)).status, 200, path)
      longest = Math.max(longest, performance.now() - start)
    }
    await sleep(50)
  }
  return longest
}

test('at ten times its capacity a process serves nearly its peak, refuses the rest quickly, and recovers', async context => {
  await withProcess(async ({ url, headers, metric, log }) => {
    for (let nth = 0; nth < postCount; nth++) {
      const body = JSON.stringify({ title: `t${nth}`, body: 'x'.repeat(300), author_id: 1 })
      assert.equal((await fetch(`${url}/api/v1/posts`, { method: 'POST', headers, body })).status, 201)
    }
    const query = '{ posts(limit: 50) { id title author { id name posts(limit: 20) { id title body } } } }'
    const requestOptions = {
      port: Number(new URL(url).port),
      method: 'POST',
      path: '/graphql',
      headers,
      body: JSON.stringify({ query }),
    }
    const before = await metric(cpu)
    const calm = await flood({ ...requestOptions, rate: undefined, seconds: 3, connections: 16 })
    const after = await metric(cpu)
    // A short stall of the machine makes even an idle service refuse some requests.
    assert.ok(calm.flatMap(({ refused }) => refused).length <= servedCount(calm) / 20)
    const peak = servedCount(calm) / calm.length

    let isOver = false
    const watching = slowestResponse(url, () => isOver)
    // Handled at once, so that a failed assertion below is what the test reports.
    watching.catch(() => undefined)
    // If the peak was measured during a stall, ten times that may not be an overload yet.
    const seconds: Second[] = []
    for (let rate = peak * 10; seconds.flatMap(second => second.refused).length < 200; rate *= 2) {
      assert.ok(rate < peak * 400, 'the load never exceeded the capacity')
      seconds.push(
        ...(await flood({ ...requestOptions, rate: Math.ceil(rate), seconds: 4, connections: 1500 })),
      )
    }
    isOver = true
    const spent = (await metric(cpu)) - after
    const longest = await watching

    const refused = seconds.flatMap(second => second.refused)
    assert.equal(
      seconds.reduce((sum, { failed }) => sum + failed, 0),
      0,
    )
    // By CPU time, of which other programs may have taken some.
    const share = servedCount(seconds) / spent / (servedCount(calm) / (after - before))
    context.diagnostic(
      `${share.toFixed(2)} of the work went into answers; a refusal took ${percentile(refused, 0.5).toFixed(1)} ms, an answer ${percentile(
        seconds.flatMap(second => second.served),
        0.5,
      ).toFixed(1)} ms`,
    )
    assert.ok(share > 0.1, `${share} of the CPU time went into served requests`)
    assert.ok(longest < 30_000, `${longest} ms for a request that is never refused`)
    assert.ok((await metric('portico_shed_requests_total')) >= refused.length)

    await sleep(2500)
    const again = await flood({ ...requestOptions, rate: undefined, seconds: 2, connections: 16 })
    assert.ok(servedCount(again) > 0)
    assert.ok(again.flatMap(({ refused: latencies }) => latencies).length <= servedCount(again) / 20)
    const countLogged = (text: string) => log.filter(line => line.includes(text)).length
    // The end of an overload is noticed by a request two seconds after the last refusal, which a busy machine may
    // delay.
    for (let tries = 0; tries < 200 && countLogged('no longer overloaded') === 0; tries++) {
      await (await fetch(`${url}/api/v1/me`, { headers })).text()
      await sleep(50)
    }
    assert.ok(countLogged('no longer overloaded') > 0)
    assert.ok(countLogged('overloaded: requests') >= countLogged('no longer overloaded'))
  })
})
