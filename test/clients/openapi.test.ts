/** Generators of clients judge: each makes one of the document of a running service, which compiles, writes and reads. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { serve } from '../../src/serve.ts'
import values from '../models/values.ts'
import { type Client, openClient } from './client.ts'
import { goFor, npmPackages, pythonWith } from './installed.ts'

const TOKEN = 'pk_0123456789abcdefghij'

/** What each client must have seen. */
const seen = {
  created: [
    ...[2 ** 53 - 1, 0.5, 'in-between', null, { a: [1, null] }, ['x']],
    ...[{ width: 3, unit: 'mm' }, 7, 'low'],
  ],
  dates: ['2026-01-31', '2026-01-31T12:00:00.000Z', 'https://example.com/'],
  defaults: ['open', true, {}, [], null, null],
  included: ['one', 'Administrator'],
  updated: ['changed', 'good', null, { b: 1 }, { width: 3 }],
  page: { names: ['two'], total: 3, page: 2 },
  cursor: [['one', 'two'], ['three']],
  filtered: ['one'],
  replaced: ['replaced', 'open', null],
  conflict: [409, 'CONFLICT', 'name'],
  deleted: 204,
  missing: [404, 'NOT_FOUND'],
}

interface Running {
  readonly url: string
  readonly environment: { readonly SERVICE: string; readonly TOKEN: string }
}

/** Runs `use` with a service of its own, and a client's project. */
async function withClient(
  name: string,
  packages: string | undefined,
  use: (client: Client, running: Running) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-values-'))
  const service = await serve(values, {
    port: 0,
    host: '127.0.0.1',
    database: join(folder, 'data.db'),
    adminApiKey: TOKEN,
    rateLimit: 'off',
    logLevel: 'silent',
  })
  const client = openClient(name, packages)
  try {
    const SERVICE = service.url.replace('localhost', '127.0.0.1')
    await use(client, { url: `${SERVICE}/api/v1/openapi.json`, environment: { SERVICE, TOKEN } })
  } finally {
    client.close()
    await service.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

function assertDone({ code, out, err }: Ended): string {
  assert.equal(code, 0, out + err)
  return out
}

describe('a client made by', () => {
  it('openapi-typescript, for openapi-fetch', async () => {
    const packages = await npmPackages('generators')
    await withClient('openapi-fetch', packages, async (client, { url, environment }) => {
      // Otherwise a body must have what has a default.
      const optional = '--default-non-nullable=false'
      assertDone(await client.tool('openapi-typescript', [url, '-o', 'src/api.ts', optional]))
      assertDone(await client.tool('tsc', ['-p', '.']))
      assert.deepEqual(JSON.parse(assertDone(await client.run(environment))), seen)
    })
  })

  it('hey-api', async () => {
    const packages = await npmPackages('generators')
    await withClient('hey-api', packages, async (client, { url, environment }) => {
      assertDone(await client.tool('openapi-ts', ['-i', url, '-o', 'src/api', '--no-log-file']))
      assertDone(await client.tool('tsc', ['-p', '.']))
      assert.deepEqual(JSON.parse(assertDone(await client.run(environment))), seen)
    })
  })

  it('openapi-python-client', async () => {
    const python = await pythonWith(join(import.meta.dirname, 'openapi-python'))
    await withClient('openapi-python', undefined, async (client, { url, environment }) => {
      // It formats by a program of its packages.
      const PATH = [dirname(python), process.env.PATH].join(delimiter)
      const generate = ['generate', '--url', url, '--output-path', 'made', '--fail-on-warning']
      assertDone(await client.program(python, ['-m', 'openapi_python_client', ...generate], { PATH }))
      const PYTHONPATH = join(client.folder, 'made')
      const types = ['-m', 'mypy', '--strict', 'main.py']
      assertDone(await client.program(python, types, { PYTHONPATH, MYPYPATH: PYTHONPATH }))
      const ended = await client.program(python, ['main.py'], { PYTHONPATH, ...environment })
      assert.deepEqual(JSON.parse(assertDone(ended)), seen)
    })
  })

  it('oapi-codegen', async () => {
    const go = await goFor(join(import.meta.dirname, 'oapi-codegen'))
    await withClient('oapi-codegen', undefined, async (client, { url, environment }) => {
      // What Go has fetched and compiled stays for the next run.
      const { GOPATH, GOCACHE, GOPROXY, GOFLAGS } = process.env
      const kept = { HOME: homedir(), GOPATH, GOCACHE, GOPROXY, GOFLAGS, CGO_ENABLED: '0' }
      const given = Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined))
      writeFileSync(join(client.folder, 'api.json'), await (await fetch(url)).text())
      const fetched = await client.program(go, ['mod', 'download'], given)
      assert.equal(fetched.code, 0, `The test needs the Go modules of go.sum, from a proxy.\n${fetched.err}`)
      assertDone(
        await client.program(go, ['tool', 'oapi-codegen', '-config', 'config.yaml', 'api.json'], given),
      )
      assertDone(await client.program(go, ['build', '-o', 'client', '.'], given))
      const ended = await client.program(join(client.folder, 'client'), [], { ...given, ...environment })
      assert.deepEqual(JSON.parse(assertDone(ended)), seen)
    })
  })
})
