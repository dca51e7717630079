/** `portico/client` as one module, bundled for browsers, and the runtimes that load it. */
import { join } from 'node:path'
import { build, type Rolldown } from 'vite'
import { npmPackages } from '../system/clients/installed.ts'

const entry = join(import.meta.dirname, '..', '..', 'src', 'client.ts')

/** Minified. */
export async function bundledClient(): Promise<string> {
  const { output } = (await build({
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      modulePreload: false,
      rolldownOptions: { input: entry, preserveEntrySignatures: 'strict' },
    },
  })) as Rolldown.RolldownOutput
  return output[0].code
}

/** The program of one of these packages, without its install script. */
export async function runtime(name: 'deno' | 'bun'): Promise<string> {
  const packages = await npmPackages('runtimes')
  const machine = `${process.platform}-${process.arch}`
  if (name === 'deno') {
    const libc = process.platform === 'linux' ? '-glibc' : ''
    return join(packages, '@deno', `${machine}${libc}`, 'deno')
  }
  return join(packages, '@oven', `bun-${machine.replace('arm64', 'aarch64')}`, 'bin', 'bun')
}
