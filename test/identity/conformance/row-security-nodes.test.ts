/**
 * Three nodes with row security: tokens and accounts that end. Nodes notify each other of these, and they cause most
 * writes, so these tests also fail for faults of several nodes or of row security alone.
 */
import { describe } from 'node:test'
import { rowSecurityNodes } from '../../setups/postgres.ts'
import { shareSetup } from './server.ts'

shareSetup(rowSecurityNodes)

describe(rowSecurityNodes.name, async () => {
  await import('./sessions/deleted-user.test.ts')
  await import('./tokens/jwt.test.ts')
  await import('./tokens/revocation.test.ts')
})
