/**
 * One node with row security: consent and scopes. `row-security-nodes.test.ts` has tokens and accounts that end.
 * `PORTICO_MATRIX=whole` runs every test of the authorization server here, as before a release.
 */
import { describe } from 'node:test'
import { isWhole } from '../../matrix/service.ts'
import { postgresRowSecurity } from '../../setups/postgres.ts'
import { shareSetup } from './server.ts'

shareSetup(postgresRowSecurity)

describe(postgresRowSecurity.name, async () => {
  await import('./other-account.test.ts')
  await import('./scopes.test.ts')
  if (!isWhole) return
  await import('./claims.test.ts')
  await import('./clients.test.ts')
  await import('./attacks.test.ts')
  await import('./deleted-user.test.ts')
  await import('./dpop.test.ts')
  await import('./device-polling.test.ts')
  await import('./ended-sessions.test.ts')
  await import('./request-outcomes.test.ts')
  await import('./grant-refusals.test.ts')
  await import('./jwt.test.ts')
  await import('./client-endpoints.test.ts')
  await import('./parameters.test.ts')
  await import('./redirect-uri.test.ts')
  await import('./registration.test.ts')
  await import('./requests.test.ts')
  await import('./revocation.test.ts')
  await import('./web-apps.test.ts')
})
