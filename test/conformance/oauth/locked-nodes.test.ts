/** Where the database locks the rows: the tests of revocation, which write most of what the server keeps. */
import { describe } from 'node:test'
import { lockedNodes } from '../../setups/postgres.ts'
import { shareSetup } from './server.ts'

shareSetup(lockedNodes)

describe(lockedNodes.name, async () => {
  await import('./revocation.test.ts')
})
