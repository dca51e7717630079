/**
 * Tests of the state that nodes share, on three nodes, each request to another.
 * `PORTICO_MATRIX=whole` also runs the tests of what a single node decides alone, as before a release.
 */
import { describe } from 'node:test'
import { isWhole } from '../../matrix/service.ts'
import { postgresNodes } from '../../setups/postgres.ts'
import { shareSetup } from './server.ts'

shareSetup(postgresNodes)

describe(postgresNodes.name, async () => {
  await import('./attacks.test.ts')
  await import('./device-polling.test.ts')
  await import('./ended-sessions.test.ts')
  if (!isWhole) return
  await import('./claims.test.ts')
  await import('./clients.test.ts')
  await import('./deleted-user.test.ts')
  await import('./request-outcomes.test.ts')
  await import('./grant-refusals.test.ts')
  await import('./jwt.test.ts')
  await import('./parameters.test.ts')
  await import('./redirect-uri.test.ts')
  await import('./requests.test.ts')
  await import('./revocation.test.ts')
  await import('./web-apps.test.ts')
})
