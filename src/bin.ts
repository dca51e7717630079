#!/usr/bin/env node
// Checks Node's version before importing anything that an older one cannot parse.
import { fileURLToPath } from 'node:url'

const minVersion = '24.15'

if (process.versions.node.localeCompare(minVersion, 'en', { numeric: true }) < 0) {
  console.error(
    `Portico needs Node ${minVersion} or newer, and this is Node ${process.versions.node}. ` +
      'Install a newer one from https://nodejs.org, or into this project with `npm i -D node@26`.',
  )
  process.exitCode = 1
} else {
  // The compile cache also holds model files with their types stripped. It is next to the package: other users could write
  // to the shared temporary folder. If it is not writable, nothing is cached.
  const { guardNextTick } = await import('./server/http/next-tick-guard.ts')
  guardNextTick()
  const { enableCompileCache } = await import('node:module')
  enableCompileCache(fileURLToPath(new URL('../.cache', import.meta.url)))
  const { main } = await import('./tools/cli/cli.ts')
  process.exitCode = await main(process.argv.slice(2))
}
