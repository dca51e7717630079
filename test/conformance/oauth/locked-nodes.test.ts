/**
 * Three nodes, and the database locks the rows: tokens and accounts that end, which nodes tell each other and for which
 * the server writes most of what it keeps. What only the nodes or only the locks break fails here too.
 */
import { describe } from 'node:test'
import { lockedNodes } from '../../setups/postgres.ts'
import { shareSetup } from './server.ts'

shareSetup(lockedNodes)

describe(lockedNodes.name, async () => {
  await import('./deleted-user.test.ts')
  await import('./jwt.test.ts')
  await import('./revocation.test.ts')
})
