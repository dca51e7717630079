/**
 * One node with row security: consent and scopes. `row-security-nodes.test.ts` has tokens and accounts that end.
 * `PORTICO_MATRIX=whole` runs every test of the authorization server here, as before a release.
 */
import { describe } from 'node:test'
import { isWhole } from '../../cases.ts'
import { postgresRowSecurity } from '../../setups/postgres.ts'
import { shareSetup } from './server.ts'

shareSetup(postgresRowSecurity)

describe(postgresRowSecurity.name, async () => {
  await import('./requests/other-account.test.ts')
  await import('./requests/scopes.test.ts')
  if (!isWhole) return
  await import('./tokens/claims.test.ts')
  await import('./clients/clients.test.ts')
  await import('./attacks.test.ts')
  await import('./sessions/deleted-user.test.ts')
  await import('./tokens/dpop.test.ts')
  await import('./tokens/device-polling.test.ts')
  await import('./sessions/ended-sessions.test.ts')
  await import('./requests/request-outcomes.test.ts')
  await import('./tokens/grant-refusals.test.ts')
  await import('./tokens/jwt.test.ts')
  await import('./clients/client-endpoints.test.ts')
  await import('./requests/parameters.test.ts')
  await import('./requests/redirect-uri.test.ts')
  await import('./clients/registration.test.ts')
  await import('./requests/requests.test.ts')
  await import('./tokens/revocation.test.ts')
  await import('./clients/web-apps.test.ts')
})
