#!/usr/bin/env node
// Checks the version before anything is loaded that an older Node cannot read.
import { fileURLToPath } from 'node:url'

const OLDEST = 24
const [major = 0] = process.versions.node.split('.').map(Number)

if (major < OLDEST) {
  console.error(
    `Portico needs Node ${OLDEST} or newer, and this is Node ${process.versions.node}. ` +
      'Install a newer one from https://nodejs.org, or into this project with `npm i -D node@26`.',
  )
  process.exitCode = 1
} else {
  // Compiled code from the last start, a model's stripped types too. Beside the package and not in the
  // shared temporary folder, where others could write it. Where it cannot be written, nothing is cached.
  const { keepTicksSteady } = await import('./http/steady-ticks.ts')
  keepTicksSteady()
  const { enableCompileCache } = await import('node:module')
  enableCompileCache(fileURLToPath(new URL('../.cache', import.meta.url)))
  const { main } = await import('./cli.ts')
  process.exitCode = await main(process.argv.slice(2))
}
