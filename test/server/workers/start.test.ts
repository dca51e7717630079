/** Starting and stopping several workers as one service. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { generateKey } from '../../../src/identity/keys/key.ts'
import { SettingsError } from '../../../src/server/config/config.ts'
import { serve } from '../../../src/server/serve/serve.ts'
import blog from '../../models/blog.ts'
import rich from '../../models/rich.ts'
import { inheritedEnvironment } from '../../system/processes/environment.ts'
import { programOfTestModels } from '../../system/processes/program.ts'
import { modelFile } from './service.ts'

test('a start with several workers that is impossible reports the reason', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-workers-'))
  const settings = {
    port: 0,
    host: '127.0.0.1',
    database: join(folder, 'x.db'),
    logLevel: 'silent',
    workers: 2,
  } as const
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const address = taken.address()
  try {
    const about = (pattern: RegExp) => (error: unknown) =>
      error instanceof SettingsError && pattern.test(error.message)
    await assert.rejects(
      serve(blog, settings),
      about(/`workers`: more than one worker needs the model as a file/),
    )
    await assert.rejects(serve(rich, { ...settings, model: modelFile }), about(/has another model/))
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    await assert.rejects(serve(blog, { ...settings, model: modelFile, port }), { code: 'EADDRINUSE' })
  } finally {
    taken.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

test('the process prints one welcome and complete log lines, and exits at SIGTERM', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-workers-'))
  const key = generateKey()
  const child = spawn(process.execPath, [...programOfTestModels, 'start'], {
    env: {
      ...inheritedEnvironment,
      WORKERS: '2',
      PORT: '0',
      HOST: '127.0.0.1',
      DATABASE_URL: join(folder, 'x.db'),
      PORTICO_MODEL: modelFile,
      PORTICO_ADMIN_API_KEY: key,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exit = once(child, 'exit')
  try {
    const lines: string[] = []
    const listening = Promise.withResolvers<string>()
    createInterface(child.stdout).on('line', line => {
      lines.push(line)
      const [, url] = /listening on (http:\S+?)"/.exec(line) ?? []
      if (url !== undefined) listening.resolve(url)
    })
    const url = await listening.promise
    const count = 400
    const headers = { Authorization: `Bearer ${key}` }
    for (let turn = 0; turn < count / 50; turn++) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => fetch(`${url}/api/v1/posts`, { headers, keepalive: false })),
      )
      for (const answer of answers) {
        await answer.text()
        assert.equal(answer.status, 200)
      }
    }
    child.kill('SIGTERM')
    assert.deepEqual(await exit, [0, null])
    const logged = lines.filter(line => line.startsWith('{')).map(line => JSON.parse(line))
    assert.equal(logged.filter(({ path }) => path === '/api/v1/posts').length, count)
    assert.equal(lines.filter(line => line.includes('The first start')).length, 1)
    assert.equal(logged.filter(({ msg }) => msg?.startsWith('listening')).length, 1)
  } finally {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await exit
    rmSync(folder, { recursive: true, force: true })
  }
})
