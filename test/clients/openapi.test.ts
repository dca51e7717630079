/** Generators of clients judge: each makes one of the documents of running services, which compiles, writes and reads. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import type { Declaration } from '../../src/model/declaration.ts'
import { serve } from '../../src/serve.ts'
import blog from '../models/blog.ts'
import tracker from '../models/tracker.ts'
import values from '../models/values.ts'
import { type Client, openClient } from './client.ts'
import { goFor, npmPackages, pythonWith } from './installed.ts'

const TOKEN = 'pk_0123456789abcdefghij'

/** What each client must have seen, by the model of the service. */
const seen = {
  values: {
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
  },
  blog: {
    created: ['Hello', null, 'Administrator'],
    listed: [['Hello'], 1],
    equal: ['Hello'],
    related: ['Hello'],
    counted: 1,
    updated: ['Hello again', 'Much'],
    replaced: ['New', null],
    ofAuthor: ['New'],
    deleted: 204,
    gone: [404, 'NOT_FOUND'],
  },
  tracker: {
    task: ['Weave', 'open', 1, null],
    urgent: ['VALIDATION_FAILED', 'due_on'],
    doing: [['Card', '2026-12-24']],
    done: true,
    archived: true,
    report: [0, 0, 1, 1],
    groups: [1, 1],
    trashed: 204,
    restored: ['Weave', null],
    deleted: 204,
  },
}

type Name = keyof typeof seen

const models: Readonly<Record<Name, Declaration>> = { values, blog, tracker }
const names = Object.keys(seen) as readonly Name[]

interface Running {
  readonly url: string
  readonly environment: { readonly SERVICE: string; readonly TOKEN: string }
}

type Services = Readonly<Record<Name, Running>>

async function start(name: Name, folder: string) {
  const service = await serve(models[name], {
    port: 0,
    host: '127.0.0.1',
    database: join(folder, `${name}.db`),
    adminApiKey: TOKEN,
    rateLimit: 'off',
    logLevel: 'silent',
  })
  const SERVICE = service.url.replace('localhost', '127.0.0.1')
  const running: Running = { url: `${SERVICE}/api/v1/openapi.json`, environment: { SERVICE, TOKEN } }
  return { name, service, running }
}

/** Runs `use` with a service of each model, and a client's project. */
async function withClient(
  name: string,
  packages: string | undefined,
  use: (client: Client, services: Services) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-openapi-'))
  const started = await Promise.all(names.map(each => start(each, folder)))
  const client = openClient(name, packages)
  try {
    const entries = started.map(each => [each.name, each.running])
    await use(client, Object.fromEntries(entries) as Services)
  } finally {
    client.close()
    for (const { service } of started) await service.close()
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

function assertSeen(name: Name, ended: Ended): void {
  assert.deepEqual(JSON.parse(assertDone(ended)), seen[name], name)
}

/** Compiles the project, in strict mode, and runs its programs. */
async function runPrograms(client: Client, services: Services): Promise<void> {
  assertDone(await client.tool('tsc', ['-p', '.']))
  for (const name of names) {
    const file = join('out', `${name}.js`)
    assertSeen(name, await client.program(process.execPath, [file], services[name].environment))
  }
}

describe('a client made by', () => {
  it('openapi-typescript, for openapi-fetch', async () => {
    const packages = await npmPackages('generators')
    await withClient('openapi-fetch', packages, async (client, services) => {
      // Otherwise a body must have what has a default.
      const optional = '--default-non-nullable=false'
      for (const name of names) {
        const args = [services[name].url, '-o', `src/${name}-api.ts`, optional]
        assertDone(await client.tool('openapi-typescript', args))
      }
      await runPrograms(client, services)
    })
  })

  it('hey-api', async () => {
    const packages = await npmPackages('generators')
    await withClient('hey-api', packages, async (client, services) => {
      for (const name of names) {
        const args = ['-i', services[name].url, '-o', `src/${name}-api`, '--no-log-file']
        assert.doesNotMatch(assertDone(await client.tool('openapi-ts', args)), /warning/i)
      }
      await runPrograms(client, services)
    })
  })

  it('openapi-python-client', async () => {
    const python = await pythonWith(join(import.meta.dirname, 'openapi-python'))
    await withClient('openapi-python', undefined, async (client, services) => {
      // It formats by a program of its packages.
      const PATH = [dirname(python), process.env.PATH].join(delimiter)
      for (const name of names) {
        const generate = ['generate', '--url', services[name].url, '--output-path', name, '--fail-on-warning']
        assertDone(await client.program(python, ['-m', 'openapi_python_client', ...generate], { PATH }))
        const PYTHONPATH = join(client.folder, name)
        const types = ['-m', 'mypy', '--strict', `${name}.py`]
        assertDone(await client.program(python, types, { PYTHONPATH, MYPYPATH: PYTHONPATH }))
        const environment = { PYTHONPATH, ...services[name].environment }
        assertSeen(name, await client.program(python, [`${name}.py`], environment))
      }
    })
  })

  it('oapi-codegen', async () => {
    const go = await goFor(join(import.meta.dirname, 'oapi-codegen'))
    await withClient('oapi-codegen', undefined, async (client, services) => {
      // What Go has fetched and compiled stays for the next run.
      const { GOPATH, GOCACHE, GOPROXY, GOFLAGS } = process.env
      const kept = { HOME: homedir(), GOPATH, GOCACHE, GOPROXY, GOFLAGS, CGO_ENABLED: '0' }
      const given = Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined))
      const fetched = await client.program(go, ['mod', 'download'], given)
      assert.equal(fetched.code, 0, `The test needs the Go modules of go.sum, from a proxy.\n${fetched.err}`)
      for (const name of names) {
        const output = join(name, 'client.gen.go')
        const args = ['tool', 'oapi-codegen', '-config', 'config.yaml', '-o', output, `${name}/api.json`]
        writeFileSync(join(client.folder, name, 'api.json'), await (await fetch(services[name].url)).text())
        assertDone(await client.program(go, args, given))
      }
      assertDone(await client.program(go, ['build', '-o', 'bin/', './...'], given))
      for (const name of names) {
        const environment = { ...given, ...services[name].environment }
        assertSeen(name, await client.program(join(client.folder, 'bin', name), [], environment))
      }
    })
  })
})
