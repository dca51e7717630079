/**
 * Three nodes with row locks: tokens and accounts that end. Nodes notify each other of these, and they cause most
 * writes, so these tests also fail for faults of several nodes or of row locks alone.
 */
import { describe } from 'node:test'
import { lockedNodes } from '../../setups/postgres.ts'
import { shareSetup } from './server.ts'

shareSetup(lockedNodes)

describe(lockedNodes.name, async () => {
  await import('./sessions/deleted-user.test.ts')
  await import('./tokens/jwt.test.ts')
  await import('./tokens/revocation.test.ts')
})
