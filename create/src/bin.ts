#!/usr/bin/env node
// Checks the version before it imports anything that an older Node cannot parse.
const oldestMajor = 20
const version = process.versions.node

if (Number.parseInt(version, 10) < oldestMajor) {
  console.error(
    `create-portico needs Node ${oldestMajor} or later, and this is Node ${version}. Install a newer one from https://nodejs.org.`,
  )
  process.exitCode = 1
} else {
  const { main } = await import('./main.ts')
  process.exitCode = await main(process.argv.slice(2))
}
