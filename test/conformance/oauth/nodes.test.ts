/** The same tests of the authorization server, each request to another of three nodes. */
import { describe } from 'node:test'
import { postgresNodes } from '../../setups/postgres.ts'
import { useSetup } from './server.ts'

useSetup(postgresNodes)

describe(postgresNodes.name, async () => {
  await import('./attacks.test.ts')
  await import('./claims.test.ts')
  await import('./clients.test.ts')
  await import('./deleted-user.test.ts')
  await import('./device-pace.test.ts')
  await import('./ended-sessions.test.ts')
  await import('./endings.test.ts')
  await import('./grant-refusals.test.ts')
  await import('./jwt.test.ts')
  await import('./parameters.test.ts')
  await import('./redirect-uri.test.ts')
  await import('./requests.test.ts')
  await import('./revocation.test.ts')
})
