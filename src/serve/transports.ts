/** The transports of a model: REST, GraphQL and the authorization server. */
import type { AddressChangeParts } from '../auth/accounts/address-changes.ts'
import type { Authenticate } from '../auth/authenticate.ts'
import { createBackground } from '../auth/background.ts'
import type { Mail } from '../auth/mail.ts'
import { ownCollections } from '../auth/own-collections.ts'
import type { AppSecrets } from '../auth/server/clients/app-secrets.ts'
import type { Apps } from '../auth/server/clients/apps.ts'
import { EventTypes } from '../auth/webhooks/event-types.ts'
import type { WebhookGrants } from '../auth/webhooks/grants.ts'
import { WebhookSecrets } from '../auth/webhooks/secrets.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { RateLimits } from '../cluster/rate-limits.ts'
import type { Settings } from '../config.ts'
import type { Clock } from '../events/consumer/timetable.ts'
import type { Events } from '../events/events.ts'
import type { Exchange } from '../http.ts'
import { createIdempotency } from '../idempotency.ts'
import type { OperationParts } from '../logic/operations/call.ts'
import type { Model } from '../model/model.ts'
import type { Log, Logger } from '../observability/log.ts'
import type { CreateHooks, Run } from '../plan/run.ts'
import type { Records } from '../records.ts'
import { createRest, type Rest } from '../rest/rest.ts'
import type { Store } from '../store/store.ts'
import { clientOf } from './connected-client.ts'
import { createProcessEvents } from './events.ts'
import { createLazyGraphql, type LazyGraphql } from './graphql.ts'
import { createLazyOauth, type LazyOauth } from './oauth.ts'
import { openPortal } from './portal.ts'
import { openReactions, type RunningReactions } from './reactions.ts'
import { loggedTimeLimit } from './time-limit.ts'
import { createTokenLimits } from './token-rate-limit.ts'
import { openWebhookSender, type RunningSender } from './webhook-sender.ts'
import { webhookActions } from './webhooks.ts'

interface TransportParts {
  readonly model: Model
  readonly run: Run
  readonly store: Store
  readonly records: Records
  readonly apps: Apps
  readonly secrets: AppSecrets
  readonly webhookGrants: WebhookGrants
  readonly authenticate: Authenticate
  readonly limits: RateLimits
  readonly cluster: Cluster
  readonly settings: Settings
  readonly log: Log
  readonly mail: Mail
  /** What rules, actions, reactions and jobs go by. */
  readonly clock: Clock
  /** The address of the service. */
  readonly issuer: () => string
}

export interface Transports {
  /** Plans made of what others ask for, with the rules of the built-in collections. */
  readonly run: Run
  readonly hooks: CreateHooks
  readonly rest: Rest
  readonly graphql: LazyGraphql
  readonly oauth: LazyOauth
  readonly events: Events
  readonly webhooks: RunningSender
  readonly reactions: RunningReactions
}

export function openTransports(parts: TransportParts): Transports {
  const { model, run, store, records, apps, secrets, authenticate, limits, cluster, settings, mail, issuer } =
    parts
  const { log, clock } = parts
  const { logger } = log
  const faultsOf = (what: string) => (error: unknown) => logger.error({ err: error }, `${what} failed`)
  const counters = cluster.counters
  const work = createBackground(unawaited(logger))
  const writeAddress = addressWriter({
    run,
    records,
    counters,
    mail,
    issuer,
    name: settings['theme.name'],
    background: work.background,
  })
  const { maxKeysPerUser } = settings
  const { run: transportRun, hooks } = ownCollections({
    run,
    records,
    secrets,
    maxKeysPerUser,
    serviceName: settings['theme.name'],
    writeAddress,
    webhooks: {
      types: new EventTypes(model),
      allowPrivate: settings['webhooks.allowPrivate'],
      maxPerUser: settings['webhooks.maxPerUser'],
      lastEvent: () => store.changes.last(),
    },
  })
  const idempotency = createIdempotency({ run, records, counters })
  const actions = webhookActions({
    run,
    secrets: new WebhookSecrets(records, settings['webhooks.secretOverlap']),
    grants: parts.webhookGrants,
  })
  const logic: OperationParts = {
    ...{ model, hooks, timeLimit: loggedTimeLimit(logger), now: clock.now },
    limits: {
      timeMs: settings['logic.actionTimeout'],
      operations: settings['logic.actionOperations'],
      tries: settings['logic.actionTries'],
    },
  }
  const events = createProcessEvents({
    feed: store.changes,
    authenticate,
    refresh: () => store.refresh(),
    settings,
    onFault: faultsOf('the delivery of events'),
  })
  const oauth = createLazyOauth({
    model,
    run,
    records,
    apps,
    authenticate,
    limits,
    counters,
    attempts: createTokenLimits(settings, limits, counters),
    mail,
    work,
    settings,
    issuer,
    logger,
    onFault: faultsOf('the authorization server'),
  })
  return {
    run: transportRun,
    hooks,
    rest: createRest({
      ...{ model, run: transportRun, hooks, idempotency, actions, logic, baseUrl: settings.baseUrl },
      pages: openPortal({ ...parts, sessionOf: oauth.sessionOf }),
      // Every call is an exchange: it carries the headers of the budget.
      draw: (call, principal, requests) => limits.draw(principal, call as Exchange, requests),
      events: {
        events,
        feed: store.changes,
        clientOf,
        maxBufferedBytes: settings['graphql.maxBuffered'],
      },
    }),
    graphql: createLazyGraphql({
      model,
      run: transportRun,
      hooks,
      logic,
      idempotency,
      events,
      refresh: () => store.refresh(),
      limits,
      settings,
      issuer,
      onFault: faultsOf('a GraphQL operation'),
    }),
    oauth,
    events,
    reactions: openReactions({
      ...{ model, store, run: transportRun, hooks, mail, settings, logger, clock },
      timeLimit: loggedTimeLimit(logger),
    }),
    webhooks: openWebhookSender({
      model,
      store,
      records,
      run,
      grants: parts.webhookGrants,
      mail,
      settings,
      logger,
      issuer,
    }),
  }
}

/** Loaded when the first e-mail address changes, which is rare after a start. */
function addressWriter(parts: AddressChangeParts): Run['write'] {
  let loading: Promise<Run['write']> | undefined
  const load = async () => {
    const { addressChanges } = await import('../auth/accounts/address-changes.ts')
    return addressChanges(parts)
  }
  return async (plan, principal, within) => {
    loading ??= load()
    return (await loading)(plan, principal, within)
  }
}

function unawaited(logger: Logger) {
  return (error: unknown) => logger.error({ err: error }, 'background work failed')
}
