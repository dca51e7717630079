/** REST, GraphQL and the authorization server over one model. */

import type { AddressChangeParts } from '../auth/accounts/address-changes.ts'
import type { Authenticate } from '../auth/authenticate.ts'
import { createBackground } from '../auth/background.ts'
import { createMail } from '../auth/mail.ts'
import { ownCollections } from '../auth/own-collections.ts'
import type { AppSecrets } from '../auth/server/app-secrets.ts'
import type { Apps } from '../auth/server/apps.ts'
import type { Reply } from '../call.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { Limits } from '../cluster/limits.ts'
import type { Settings } from '../config.ts'
import type { Exchange } from '../http.ts'
import type { Log, Logger } from '../log.ts'
import type { Model } from '../model/model.ts'
import type { Awaitable } from '../plan/answer.ts'
import type { Run } from '../plan/run.ts'
import type { Principal } from '../principal.ts'
import type { Records } from '../records.ts'
import { createRest } from '../rest/rest.ts'
import type { Store } from '../store/store.ts'
import { attemptsOf } from './attempts.ts'
import { type GraphqlFace, graphqlFace } from './graphql.ts'
import { type OauthFace, oauthFace } from './oauth.ts'

interface FaceParts {
  readonly model: Model
  readonly run: Run
  readonly store: Store
  readonly records: Records
  readonly apps: Apps
  readonly secrets: AppSecrets
  readonly authenticate: Authenticate
  readonly limits: Limits
  readonly cluster: Cluster
  readonly settings: Settings
  readonly log: Log
  /** Where the service is reached. */
  readonly issuer: () => string
}

export interface Faces {
  readonly rest: (exchange: Exchange, principal: Principal) => Awaitable<Reply>
  readonly graphql: GraphqlFace
  readonly oauth: OauthFace
}

export function openFaces(parts: FaceParts): Faces {
  const { model, run, store, records, apps, secrets, authenticate, limits, cluster, settings, issuer } = parts
  const { logger } = parts.log
  const faultsOf = (what: string) => (error: unknown) => logger.error({ err: error }, `${what} failed`)
  const serviceName = settings['theme.name']
  const mail = createMail({ smtp: settings['mail.smtp'], from: settings['mail.from'] }, logger)
  const counters = cluster.counters
  const work = createBackground(unawaited(logger))
  const writeAddress = addressWriter({
    run,
    records,
    counters,
    mail,
    issuer,
    name: serviceName,
    background: work.background,
  })
  const { maxKeysPerUser } = settings
  const { run: faceRun, hooks } = ownCollections({
    run,
    records,
    secrets,
    maxKeysPerUser,
    serviceName,
    writeAddress,
  })
  return {
    rest: createRest({ model, run: faceRun, hooks, baseUrl: settings.baseUrl }),
    graphql: graphqlFace({
      model,
      run: faceRun,
      hooks,
      changes: store.changes,
      authenticate,
      refresh: () => store.refresh(),
      limits,
      settings,
      issuer,
      onFault: faultsOf('a GraphQL operation'),
    }),
    oauth: oauthFace({
      model,
      run,
      records,
      apps,
      authenticate,
      limits,
      counters,
      attempts: attemptsOf(settings, limits, counters),
      mail,
      work,
      settings,
      issuer,
      logger,
      onFault: faultsOf('the authorization server'),
    }),
  }
}

/** Loaded with the first address that is set: few services see one soon. */
function addressWriter(parts: AddressChangeParts): Run['write'] {
  let loading: Promise<Run['write']> | undefined
  const load = async () => {
    const { addressChanges } = await import('../auth/accounts/address-changes.ts')
    return addressChanges(parts)
  }
  return async (plan, principal) => {
    loading ??= load()
    return (await loading)(plan, principal)
  }
}

function unawaited(logger: Logger) {
  return (error: unknown) => logger.error({ err: error }, 'something that nobody waited for has failed')
}
