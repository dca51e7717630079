/** Every credential that the service takes, and what they are checked against. */
import { accessTokenReader } from '../auth/access-token.ts'
import { apiKeyReader } from '../auth/api-key.ts'
import { type Authenticate, createAuthenticate } from '../auth/authenticate.ts'
import { AppSecrets } from '../auth/server/app-secrets.ts'
import { type Apps, createApps, scopesOfApp } from '../auth/server/apps.ts'
import { withDenials } from '../auth/server/denials.ts'
import type { Settings } from '../config.ts'
import type { Log } from '../log.ts'
import type { Model } from '../model/model.ts'
import type { Run } from '../plan/run.ts'
import type { Records } from '../records.ts'
import type { Store } from '../store/store.ts'
import type { Traces } from '../traces.ts'
import { outsideReaders } from './outside.ts'
import { tracedAuthenticate } from './traces.ts'

interface CredentialParts {
  readonly model: Model
  readonly store: Store
  /** The store's records, with what is secret in them sealed. */
  readonly sealed: Records
  readonly run: Run
  readonly settings: Settings
  readonly log: Log
  readonly traces: Traces | undefined
  /** Where the service is reached. */
  readonly issuer: () => string
}

interface Credentials {
  readonly authenticate: Authenticate
  /** How often a key was known without asking the database. */
  readonly counts: { readonly hits: number; readonly misses: number }
  readonly apps: Apps
  readonly secrets: AppSecrets
  readonly records: Records
}

export async function openCredentials(parts: CredentialParts): Promise<Credentials> {
  const { model, store, sealed, run, settings, log, traces, issuer } = parts
  const keys = apiKeyReader({
    run,
    version: collection => store.version(collection),
    adminApiKey: settings.adminApiKey,
  })
  const life = settings['oauth.accessTokenLife']
  const records = withDenials(sealed, life)
  const overlapSeconds = settings['oauth.secretOverlap']
  const secrets = new AppSecrets({ run, records, overlapSeconds })
  const version = (collection: string) => store.version(collection)
  const apps = createApps(run, version, appId => secrets.settle(appId))
  const tokens = accessTokenReader({
    run,
    records,
    version: collection => store.version(collection),
    scopesOfApp: clientId => scopesOfApp(apps, records, clientId),
    issuer,
    life,
    refreshLife: settings['oauth.refreshTokenLife'],
  })
  const outside = await outsideReaders({
    model,
    run,
    records,
    version: name => store.version(name),
    settings,
    logger: log.logger,
  })
  const authenticate = tracedAuthenticate(createAuthenticate([keys, tokens, ...outside]), traces)
  return { authenticate, counts: keys.counts, apps, secrets, records }
}
