/**
 * Tests of the state that nodes share, on three nodes, each request to another.
 * `PORTICO_MATRIX=whole` also runs the tests of what a single node decides alone, as before a release.
 */
import { describe } from 'node:test'
import { isWhole } from '../../cases.ts'
import { postgresNodes } from '../../setups/postgres.ts'
import { shareSetup } from './server.ts'

shareSetup(postgresNodes)

describe(postgresNodes.name, async () => {
  await import('./attacks.test.ts')
  await import('./tokens/device-polling.test.ts')
  await import('./sessions/ended-sessions.test.ts')
  if (!isWhole) return
  await import('./tokens/claims.test.ts')
  await import('./clients/clients.test.ts')
  await import('./sessions/deleted-user.test.ts')
  await import('./requests/request-outcomes.test.ts')
  await import('./tokens/grant-refusals.test.ts')
  await import('./tokens/jwt.test.ts')
  await import('./requests/parameters.test.ts')
  await import('./requests/redirect-uri.test.ts')
  await import('./requests/requests.test.ts')
  await import('./tokens/revocation.test.ts')
  await import('./clients/web-apps.test.ts')
})
