/** The Kubernetes example against the types of its API: every field exists and has the right type. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, it } from 'node:test'
import { parseAllDocuments } from 'yaml'

const root = resolve(import.meta.dirname, '../../..')
const text = readFileSync(join(root, 'deploy/kubernetes.yaml'), 'utf8')

const modules: Readonly<Record<string, string>> = {
  Deployment: 'apps/v1',
  Service: 'core/v1',
  PodDisruptionBudget: 'policy/v1',
  Ingress: 'networking/v1',
}

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
}

function manifests(yaml: string): readonly Manifest[] {
  return parseAllDocuments(yaml, { merge: true }).map(document => document.toJS())
}

/** An object literal may have no fields that its type lacks. */
function program(all: readonly Manifest[]): string {
  const lines = all.map(({ kind, ...rest }, index) => {
    const type = `import('kubernetes-types/${modules[kind]}').${kind}`
    return `export const manifest${index}: ${type} = ${JSON.stringify({ kind, ...rest })}`
  })
  return `${lines.join('\n')}\n`
}

/** The errors of the compiler; empty if everything is valid. */
function faultsOf(all: readonly Manifest[]): string {
  // Inside the project, whose packages it imports.
  const folder = mkdtempSync(join(root, 'node_modules', '.portico-kubernetes-'))
  try {
    const file = join(folder, 'manifests.ts')
    writeFileSync(file, program(all))
    const options =
      '--ignoreConfig --noEmit --strict --skipLibCheck --module preserve --moduleResolution bundler --types'.split(
        ' ',
      )
    const tsc = join(root, 'node_modules/typescript/lib/tsc.js')
    const { status, stdout, stderr } = spawnSync(process.execPath, [tsc, ...options, '', file], {
      encoding: 'utf8',
    })
    return status === 0 ? '' : stdout + stderr
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

describe('kubernetes.yaml', () => {
  it('matches the types of the API', () => {
    assert.equal(faultsOf(manifests(text)), '')
  })

  it('is rejected with a misspelt field or one of another type', () => {
    const faults = faultsOf([
      ...manifests(text.replace('readinessProbe:', 'readinesProbe:')),
      ...manifests(text.replace('replicas: 2', 'replicas: "2"')),
    ])
    assert.match(faults, /readinesProbe/)
    assert.match(faults, /'string' is not assignable to type 'number'/)
  })

  it('names existing API versions', () => {
    for (const { apiVersion, kind } of manifests(text)) {
      const group = apiVersion.replace('.k8s.io', '')
      assert.equal(group === 'v1' ? 'core/v1' : group, modules[kind])
    }
  })
})
