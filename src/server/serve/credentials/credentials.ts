/** Opens the readers of every kind of credential that the service accepts. */

import type { Records } from '../../../base/records.ts'
import type { Run } from '../../../engine/plan/run.ts'
import type { Store } from '../../../engine/store/store.ts'
import { accessTokenReader } from '../../../identity/access-token.ts'
import { type Authenticate, createAuthenticate } from '../../../identity/authenticate.ts'
import { withGrantEnds } from '../../../identity/grant-ends.ts'
import { apiKeyReader } from '../../../identity/keys/api-key.ts'
import { LastUses, type Used } from '../../../identity/last-use.ts'
import { AppSecrets } from '../../../identity/server/clients/app-secrets.ts'
import { type Apps, createApps, rightsOfApp } from '../../../identity/server/clients/apps.ts'
import {
  rightsOfGrant as grantRights,
  type RightsOfGrant,
} from '../../../identity/server/consent/live-grants.ts'
import { withDenials } from '../../../identity/server/tokens/deny-list.ts'
import { type SessionCookieReader, sessionCookieReader } from '../../../identity/session-cookie.ts'
import { WebhookGrants } from '../../../identity/webhooks/grants.ts'
import type { Model } from '../../../model/model.ts'
import type { Settings } from '../../config/config.ts'
import type { Log } from '../../observability/log.ts'
import type { Traces } from '../../observability/traces.ts'
import type { FaultLog } from '../monitoring/fault-log.ts'
import { tracedAuthenticate } from '../monitoring/traces.ts'
import { trustedIssuerReaders } from './trusted-issuers.ts'

interface CredentialParts {
  readonly model: Model
  readonly store: Store
  /** The store's records, with their secrets encrypted. */
  readonly encrypted: Records
  readonly run: Run
  readonly settings: Settings
  readonly log: Log
  readonly faults: Pick<FaultLog, 'report'>
  readonly traces: Traces | undefined
  /** The address of the service. */
  readonly issuer: () => string
}

export interface Credentials {
  readonly authenticate: Authenticate
  /** The hits and misses of the cache of API keys. */
  readonly counts: { readonly hits: number; readonly misses: number }
  /** Reads the session of a browser. */
  readonly sessions: SessionCookieReader
  readonly apps: Apps
  readonly secrets: AppSecrets
  readonly records: Records
  readonly webhookGrants: WebhookGrants
  readonly rightsOfGrant: RightsOfGrant
  /** One instance per process, since it caches what is stored. */
  readonly lastUses: LastUses
}

export async function openCredentials(parts: CredentialParts): Promise<Credentials> {
  const { model, store, encrypted, run, settings, log, faults, traces, issuer } = parts
  const lastUses = new LastUses(encrypted)
  const version = (collection: string) => store.version(collection)
  const onUse = (used: Used) =>
    void lastUses
      .note(used)
      .catch(error => faults.report(error, 'storing a last use failed', { kind: used.kind }))
  const lifetimes = settings['oauth.lifetimes']
  const accessSeconds = lifetimes.accessToken / 1000
  const records = withGrantEnds(withDenials(encrypted, accessSeconds), run)
  const overlapSeconds = settings.secretOverlap / 1000
  const secrets = new AppSecrets({ run, overlapSeconds })
  const apps = createApps(run, version)
  const rightsOf = (clientId: string) => rightsOfApp(apps, records, clientId)
  const rightsOfGrant = grantRights({ records, rightsOfApp: rightsOf })
  const keys = apiKeyReader({
    run,
    version,
    grants: { rightsOfGrant, version: () => grantsVersion(records, apps) },
    adminApiKey: settings.adminApiKey,
    onUse,
  })
  const tokens = accessTokenReader({
    run,
    records,
    version,
    rightsOfApp: rightsOf,
    issuer,
    accessSeconds,
    refreshSeconds: lifetimes.refreshToken / 1000,
  })
  const issuerReaders = await trustedIssuerReaders({
    model,
    run,
    records,
    version,
    settings,
    logger: log.logger,
  })
  const sessions = sessionCookieReader({ run, records, version, issuer, onUse })
  const readers = [keys, tokens, ...issuerReaders]
  const authenticate = tracedAuthenticate(createAuthenticate(readers, sessions.read), traces)
  const webhookGrants = new WebhookGrants({ run, rightsOfGrant })
  const { counts } = keys
  return {
    ...{ authenticate, counts, sessions, apps, secrets, records, webhookGrants, lastUses },
    rightsOfGrant,
  }
}

/** Grows with every change of a grant or an app. */
function grantsVersion(records: Records, apps: Apps): number {
  return records.version('Grant') + records.version('Client') + apps.version()
}
