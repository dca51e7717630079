/**
 * A package registry with Portico and create-portico as packed from this clone; it redirects npm for other packages.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
export const root = join(import.meta.dirname, '..', '..', '..')

export interface PackedPackage {
  readonly name: string
  readonly version: string
  readonly integrity: string
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
}

/**
 * The environment of a user who has installed Node and npm only, without the conditions and packages of the scripts.
 */
export function cleanEnvironment(): Record<string, string> {
  const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: _context, ...env } = process.env as Record<string, string>
  const folders = (env.PATH ?? '').split(delimiter).filter(folder => !folder.startsWith(root))
  return { ...env, PATH: [dirname(process.execPath), ...folders].join(delimiter) }
}

/** Packs both packages as for publishing. */
export async function packBoth(folder: string): Promise<readonly PackedPackage[]> {
  const script = join(root, 'scripts', 'pack.mjs')
  const { stdout } = await run(process.execPath, [script, folder], { env: cleanEnvironment() })
  return JSON.parse(stdout)
}

/** The metadata of a package that npm requests from a registry. */
function packument({ name, version, integrity, filename }: PackedPackage, url: string): string {
  const folder = name === 'portico' ? root : join(root, 'create')
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const dist = { tarball: `${url}-/${filename}`, integrity }
  return JSON.stringify({
    name,
    'dist-tags': { latest: version },
    versions: { [version]: { ...manifest, dist } },
  })
}

/** A cache with the packages that npm has already fetched, by checksum; npm's own cache stays unchanged. */
async function fillCache(folder: string): Promise<string> {
  const { stdout } = await run('npm', ['config', 'get', 'cache'], { cwd: tmpdir() })
  const contents = join(stdout.trim(), '_cacache')
  const cache = join(folder, 'cache')
  mkdirSync(contents, { recursive: true })
  mkdirSync(cache)
  symlinkSync(contents, join(cache, '_cacache'))
  return cache
}

export interface Registry {
  /** A temporary folder. */
  readonly folder: string
  /** The environment in which npm uses this registry. */
  readonly env: Record<string, string>
  /** The path of Portico's tarball. */
  readonly portico: string
  close(): void
}

export async function openRegistry(): Promise<Registry> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-create-'))
  const packed = await packBoth(folder)
  const { stdout: upstream } = await run('npm', ['config', 'get', 'registry'], { cwd: tmpdir() })
  const server = createServer((request, response) => {
    const path = request.url?.slice(1) ?? ''
    const manifest = packed.find(({ name }) => name === path)
    const file = packed.find(({ filename }) => `-/${filename}` === path)
    if (manifest) response.end(packument(manifest, url))
    else if (file) response.end(readFileSync(join(folder, file.filename)))
    else response.writeHead(302, { location: new URL(path, upstream.trim()).href }).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  // Disables the check whether the package may be fetched.
  const npm = { npm_config_registry: url, npm_config_cache: await fillCache(folder), npm_config_yes: 'true' }
  const [portico] = packed.filter(({ name }) => name === 'portico').map(({ filename }) => filename)
  return {
    folder,
    env: { ...cleanEnvironment(), ...npm, npm_config_prefer_offline: 'true' },
    portico: join(folder, portico ?? ''),
    close() {
      server.close()
      server.closeAllConnections()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
