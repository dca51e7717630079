#!/usr/bin/env node
// Checks the version before it imports anything that an older Node cannot parse.
import { fileURLToPath } from 'node:url'

const oldest = '24.15'

if (process.versions.node.localeCompare(oldest, 'en', { numeric: true }) < 0) {
  console.error(
    `Portico needs Node ${oldest} or newer, and this is Node ${process.versions.node}. ` +
      'Install a newer one from https://nodejs.org, or into this project with `npm i -D node@26`.',
  )
  process.exitCode = 1
} else {
  // The compile cache also holds the model's stripped types. It is beside the package, not in the shared temporary
  // folder, where other users could write it. If it cannot be written, nothing is cached.
  const { guardNextTick } = await import('./http/next-tick-guard.ts')
  guardNextTick()
  const { enableCompileCache } = await import('node:module')
  enableCompileCache(fileURLToPath(new URL('../.cache', import.meta.url)))
  const { main } = await import('./cli.ts')
  process.exitCode = await main(process.argv.slice(2))
}
