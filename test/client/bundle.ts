/** `portico/client` as one module, as bundlers make it for browsers. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { npmPackages } from '../clients/installed.ts'

const entry = join(import.meta.dirname, '..', '..', 'src', 'client.ts')

/** Minified. Rejects where it imports what a browser does not have. */
export async function bundledClient(): Promise<string> {
  const esbuild = join(await npmPackages('runtimes'), '.bin', 'esbuild')
  const folder = mkdtempSync(join(tmpdir(), 'portico-bundle-'))
  try {
    const out = join(folder, 'client.js')
    const how = [
      '--bundle',
      '--minify',
      '--format=esm',
      '--target=es2022',
      '--platform=browser',
      '--log-level=error',
    ]
    await promisify(execFile)(esbuild, [entry, ...how, `--outfile=${out}`])
    return readFileSync(out, 'utf8')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A program of these packages, without its install script. */
export async function runtime(name: 'deno' | 'bun'): Promise<string> {
  const packages = await npmPackages('runtimes')
  const machine = `${process.platform}-${process.arch}`
  if (name === 'deno') {
    const libc = process.platform === 'linux' ? '-glibc' : ''
    return join(packages, '@deno', `${machine}${libc}`, 'deno')
  }
  return join(packages, '@oven', `bun-${machine.replace('arm64', 'aarch64')}`, 'bin', 'bun')
}
