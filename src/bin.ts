#!/usr/bin/env node
// Checks the version before anything is loaded that an older Node cannot read.
const OLDEST = 24
const [major = 0] = process.versions.node.split('.').map(Number)

if (major < OLDEST) {
  console.error(
    `Portico needs Node ${OLDEST} or newer, and this is Node ${process.versions.node}. ` +
      'Install a newer one from https://nodejs.org, or into this project with `npm i -D node@26`.',
  )
  process.exitCode = 1
} else {
  const { main } = await import('./cli.ts')
  process.exitCode = await main(process.argv.slice(2))
}
