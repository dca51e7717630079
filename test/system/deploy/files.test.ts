/** The examples in `deploy/` are well-formed, and use settings that exist. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, it } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { readSettings, settingsTable } from '../../../src/server/config/config.ts'
import { findProgram } from '../../programs.ts'

const root = resolve(import.meta.dirname, '../../..')
const text = (path: string) => readFileSync(join(root, path), 'utf8')

type Environment = Readonly<Record<string, string>>

const variables = new Set<string>(Object.values(settingsTable).map(({ variable }) => variable)).add(
  'REDIS_URL',
)

/** Every variable must belong to a setting, and every value must be valid for it. */
function checkEnvironment(environment: Environment): void {
  const { NODE_ENV: _, DATABASE_URL, REDIS_URL: _redis, PORTICO_SECRET_KEY: secretKey, ...rest } = environment
  for (const name of Object.keys(rest)) assert.ok(variables.has(name), `${name} is not a setting`)
  const filled = Object.entries(rest).map(([name, value]) => [name, value.replace(/\$\{\w+:-(.*)\}/, '$1')])
  readSettings({ environment: Object.fromEntries(filled) })
  // Nodes on PostgreSQL need it, and the examples contain none.
  if (DATABASE_URL?.startsWith('postgres:')) assert.match(secretKey ?? '', /^\$\{PORTICO_SECRET_KEY:\?/)
  if (DATABASE_URL !== undefined) assert.match(DATABASE_URL, /^(postgres:\/\/|\/|%S\/)/)
}

const seconds = (value: string | undefined) => Number.parseInt(value ?? '0', 10)

const shutdownOf = ({ PORTICO_SHUTDOWN }: Environment) => ({ PORTICO_SHUTDOWN })

interface ComposeService {
  readonly image?: string
  readonly environment?: Environment
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean }
  readonly stop_grace_period?: string
  readonly volumes?: readonly string[]
}

describe('compose.yaml', () => {
  const { services, volumes } = parse(text('deploy/compose.yaml'), { merge: true }) as {
    readonly services: Readonly<Record<string, ComposeService>>
    readonly volumes: object
  }
  const nodes = Object.entries(services).filter(([name]) => /^portico\d$/.test(name))

  it('has two nodes with valid settings', () => {
    assert.equal(nodes.length, 2)
    for (const [, { environment = {}, stop_grace_period, volumes: mounts = [] }] of nodes) {
      assert.deepEqual([environment.FILES_URL, mounts], ['/data/files', ['files:/data']])
      checkEnvironment(environment)
      const { delay, grace } = readSettings({ environment: shutdownOf(environment) }).shutdown
      assert.ok(seconds(stop_grace_period) * 1000 > delay + grace)
    }
  })

  it('reads secrets from a file that git ignores', () => {
    assert.ok(text('.gitignore').split('\n').includes('.env'))
  })

  it('waits only for existing services and conditions', () => {
    for (const { depends_on = {} } of Object.values(services)) {
      for (const [name, { condition }] of Object.entries(depends_on)) {
        const awaited = services[name]
        assert.ok(awaited, `there is no service ${name}`)
        if (condition !== 'service_healthy') continue
        const own = nodes.some(([node]) => node === name)
        assert.ok(own || awaited.healthcheck?.test, `${name} has no health check`)
      }
    }
  })

  it('gives the load balancer its nodes, its file and all its variables', () => {
    const { environment = {}, volumes: mounts = [] } = services.haproxy ?? {}
    const config = text('deploy/haproxy.cfg')
    const read = [...config.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name)
    assert.deepEqual(Object.keys(environment).sort(), read.sort())
    assert.deepEqual(
      [environment.NODE_1, environment.NODE_2],
      nodes.map(([name]) => `${name}:3000`),
    )
    assert.ok(mounts.some(mount => mount.startsWith('./haproxy.cfg:')))
  })

  it('lets nodes serve for longer than the load balancer takes to notice', () => {
    const [, inter, fall] = /inter (\d+)s fall (\d+)/.exec(text('deploy/haproxy.cfg')) ?? []
    for (const [, { environment = {} }] of nodes) {
      const { delay } = readSettings({ environment: shutdownOf(environment) }).shutdown
      assert.ok(delay > Number(inter) * Number(fall) * 1000)
    }
  })

  it('declares the volumes that it uses, and requires the password', () => {
    assert.deepEqual(Object.keys(volumes), ['postgres', 'files'])
    const variableNames = [...text('deploy/compose.yaml').matchAll(/\$\{(\w+)/g)].map(([, name]) => name)
    const variables = [...text('deploy/example.env').matchAll(/^(\w+)=/gm)].map(([, name]) => name)
    assert.deepEqual([...new Set(variableNames)].sort(), variables.sort())
  })
})

interface Container {
  readonly env?: readonly { readonly name: string; readonly value: string }[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly command?: readonly string[]
}
type Probe = { readonly httpGet: { readonly path: string; readonly port: string } }

describe('kubernetes.yaml', () => {
  const documents = parseAllDocuments(text('deploy/kubernetes.yaml'), { merge: true })
  const manifest = (kind: string) => {
    const manifest = documents.map(document => document.toJS()).find(manifest => manifest.kind === kind)
    assert.ok(manifest, `there is no ${kind}`)
    return manifest
  }
  const { spec, metadata } = manifest('Deployment').spec.template
  const [container] = spec.containers as (Container & Readonly<Record<string, Probe>>)[]

  it('is valid YAML', () => {
    assert.deepEqual(
      documents.flatMap(({ errors }) => errors),
      [],
    )
    const kinds = documents.map(document => document.toJS().kind)
    assert.deepEqual(kinds, ['Deployment', 'Service', 'PodDisruptionBudget', 'Ingress'])
  })

  it('has valid settings, and time for a stop', () => {
    const environment = Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]))
    checkEnvironment(environment)
    const { delay, grace } = readSettings({ environment: shutdownOf(environment) }).shutdown
    assert.equal(environment.FILES_URL, '/data/files')
    assert.deepEqual(container?.volumeMounts, [{ name: spec.volumes[0].name, mountPath: '/data' }])
    assert.ok(spec.terminationGracePeriodSeconds * 1000 > delay + grace)
    const literals = [...text('deploy/kubernetes.yaml').matchAll(/--from-literal=(\w+)=/g)]
    for (const [, name = ''] of literals) assert.ok(variables.has(name), name)
  })

  it('probes existing paths on the right port', () => {
    for (const name of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
      const { path, port } = container?.[name]?.httpGet ?? {}
      assert.equal(path, name === 'readinessProbe' ? '/readyz' : '/healthz')
      assert.equal(port, container?.ports?.[0]?.name)
    }
    assert.equal(container?.ports?.[0]?.containerPort, settingsTable.port.default)
  })

  it('selects the pods, and routes to the service', () => {
    const { labels } = metadata
    assert.deepEqual(manifest('Deployment').spec.selector.matchLabels, labels)
    assert.deepEqual(manifest('Service').spec.selector, labels)
    assert.deepEqual(manifest('PodDisruptionBudget').spec.selector.matchLabels, labels)
    const { paths } = manifest('Ingress').spec.rules[0].http as {
      paths: { path: string; backend: { service: { name: string; port: { name: string } } } }[]
    }
    for (const { backend } of paths) {
      assert.equal(backend.service.name, manifest('Service').metadata.name)
      assert.equal(backend.service.port.name, manifest('Service').spec.ports[0].name)
    }
    assert.ok(!paths.some(({ path }) => path === '/' || path === '/metrics'))
  })
})

describe('portico.service', () => {
  const unit = text('deploy/portico.service')

  it('has valid settings', () => {
    const lines = [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, words = '']) => words.split(' '))
    checkEnvironment(Object.fromEntries(lines.map(line => line.split('=', 2))))
  })

  it('is accepted by systemd', () => {
    const program = findProgram('systemd-analyze')
    const folder = mkdtempSync(join(tmpdir(), 'portico-unit-'))
    try {
      const file = join(folder, 'portico.service')
      // The programs that it names are not installed on this machine.
      writeFileSync(file, unit.replace('/usr/bin/node ', `${process.execPath} `))
      const output = execFileSync(program, ['verify', file], { encoding: 'utf8', stdio: 'pipe' })
      assert.equal(output, '')
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
