/** Every mutant. */
import { auth } from './auth.ts'
import { client } from './client.ts'
import { cluster } from './cluster.ts'
import { graphql } from './graphql.ts'
import { http } from './http.ts'
import { idempotency } from './idempotency.ts'
import { logic } from './logic.ts'
import { mail } from './mail.ts'
import type { Mutant } from './mutant.ts'
import { oauth } from './oauth.ts'
import { plan } from './plan.ts'
import { postgres } from './postgres.ts'
import { processes } from './processes.ts'
import { rest } from './rest.ts'
import { routes } from './routes.ts'
import { rules } from './rules.ts'
import { store } from './store.ts'
import { transfer } from './transfer.ts'
import { webhooks } from './webhooks.ts'

export const all: readonly Mutant[] = [
  ...plan,
  ...rules,
  ...auth,
  ...mail,
  ...oauth,
  ...store,
  ...postgres,
  ...cluster,
  ...graphql,
  ...logic,
  ...webhooks,
  ...rest,
  ...routes,
  ...http,
  ...idempotency,
  ...client,
  ...transfer,
  ...processes,
]
