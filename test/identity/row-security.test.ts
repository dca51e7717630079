/** With row security: sign-up, the account’s pages, keys, apps and introspection. */
import { describe } from 'node:test'
import { isWhole } from '../cases.ts'
import { postgresRowSecurity } from '../setups/postgres.ts'
import { shareSetup } from './conformance/server.ts'

shareSetup(postgresRowSecurity)

describe(postgresRowSecurity.name, async () => {
  await import('./accounts/sign-up/sign-up-fields.test.ts')
  await import('./accounts/pages.test.ts')
  await import('./keys/key-bounds.test.ts')
  await import('./server/clients/apps.test.ts')
  await import('./server/tokens/introspection-service.test.ts')
  if (!isWhole) return
  await import('./accounts/links.test.ts')
  await import('./server/attempts.test.ts')
})
