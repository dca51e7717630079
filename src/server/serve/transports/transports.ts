/** The transports of a model: REST, GraphQL and the authorization server. */

import type { Events } from '../../../api/events/events.ts'
import type { Explainer } from '../../../api/explain/explain.ts'
import type { BuiltIns } from '../../../api/rest/actions/action.ts'
import { createRest, type Rest } from '../../../api/rest/rest.ts'
import type { Records } from '../../../base/records.ts'
import type { Watchdog } from '../../../base/watchdog/watchdog.ts'
import type { Clock } from '../../../delivery/consumer/timetable.ts'
import type { AccountDeletions } from '../../../delivery/deletions/accounts.ts'
import { RunView } from '../../../delivery/runs/view.ts'
import type { Cluster } from '../../../engine/cluster/cluster.ts'
import type { RateLimits } from '../../../engine/cluster/rate-limits.ts'
import type { ObjectStore } from '../../../engine/files/object-store.ts'
import { createIdempotency } from '../../../engine/idempotency/idempotency.ts'
import { defaultOperationLimits, type OperationParts } from '../../../engine/logic/operations/call.ts'
import type { CreateHooks, Run } from '../../../engine/plan/run.ts'
import type { Store } from '../../../engine/store/store.ts'
import type { AddressChangeParts } from '../../../identity/accounts/addresses/address-changes.ts'
import { createAddresses } from '../../../identity/accounts/addresses/addresses.ts'
import { credentialNotices } from '../../../identity/accounts/credential-notices.ts'
import { type NoticeParts, notifyOfDisabling } from '../../../identity/accounts/notifications.ts'
import type { SendRequest } from '../../../identity/accounts/providers/provider-fetch.ts'
import type { Authenticate } from '../../../identity/authenticate.ts'
import { type BackgroundWork, createBackground } from '../../../identity/background.ts'
import type { LastUses } from '../../../identity/last-use.ts'
import type { Mailer } from '../../../identity/mail/mailer.ts'
import { ownCollections } from '../../../identity/own-collections.ts'
import type { AppSecrets } from '../../../identity/server/clients/app-secrets.ts'
import type { Apps } from '../../../identity/server/clients/apps.ts'
import type { RightsOfGrant } from '../../../identity/server/consent/live-grants.ts'
import type { SessionCookieReader } from '../../../identity/session-cookie.ts'
import { EventTypes } from '../../../identity/webhooks/event-types.ts'
import type { WebhookGrants } from '../../../identity/webhooks/grants.ts'
import { WebhookSecrets } from '../../../identity/webhooks/secrets.ts'
import type { Model } from '../../../model/model.ts'
import type { Settings } from '../../config/config.ts'
import type { Exchange } from '../../http/http.ts'
import type { Log } from '../../observability/log.ts'
import { openDeletions } from '../background/deletions.ts'
import { openReactions, type RunningReactions } from '../background/reactions.ts'
import { openWebhookSender, type RunningSender } from '../background/webhook-sender.ts'
import { clientOf } from '../credentials/connected-client.ts'
import { createTokenLimits } from '../credentials/token-rate-limit.ts'
import { createFiles, type RunningFiles } from '../files.ts'
import type { FaultLog } from '../monitoring/fault-log.ts'
import { LostUpdates } from '../monitoring/lost-updates.ts'
import type { RefusalLog } from '../monitoring/refusal-log.ts'
import { createLazyOauth, type LazyOauth } from '../oauth/oauth.ts'
import { answerLimitsOf } from '../store.ts'
import { loggedWatchdog } from '../watchdog.ts'
import { accountSubresources, administrationActions } from './administration.ts'
import { createProcessEvents, maxBufferedBytes } from './events.ts'
import { openExplainer } from './explain.ts'
import { createLazyGraphql, type LazyGraphql } from './graphql.ts'
import { eraseAction, openPersonalData } from './personal-data.ts'
import { openPortal } from './portal.ts'
import { type OpenRoutes, openRoutes } from './routes.ts'
import { webhookActions, webhookOperations } from './webhooks.ts'

interface TransportParts {
  readonly model: Model
  readonly run: Run
  readonly store: Store
  readonly objects: ObjectStore | undefined
  readonly records: Records
  readonly apps: Apps
  readonly secrets: AppSecrets
  readonly sessions: SessionCookieReader
  readonly webhookGrants: WebhookGrants
  readonly rightsOfGrant: RightsOfGrant
  readonly authenticate: Authenticate
  readonly lastUses: LastUses
  readonly limits: RateLimits
  readonly cluster: Cluster
  readonly settings: Settings
  readonly log: Log
  readonly faults: FaultLog
  readonly mail: Mailer
  /** The time for rules, actions, reactions and jobs. */
  readonly clock: Clock
  readonly sendToProviders: SendRequest | undefined
  readonly refusals: RefusalLog | undefined
  /** The address of the service. */
  readonly issuer: () => string
  readonly isDevelopment: boolean
}

export interface Transports {
  /** Runs plans of clients, with the rules of the built-in collections. */
  readonly run: Run
  readonly hooks: CreateHooks
  /** For `data.transaction` of programs that embed Portico. */
  readonly logic: OperationParts
  readonly lostUpdates: LostUpdates
  readonly rest: Rest
  readonly explain: Explainer
  readonly graphql: LazyGraphql
  readonly oauth: LazyOauth
  readonly events: Events
  readonly webhooks: RunningSender
  readonly reactions: RunningReactions
  readonly deletions: AccountDeletions
  readonly routes: OpenRoutes
  /** Undefined for a model without files. */
  readonly files: RunningFiles | undefined
}

export function openTransports(parts: TransportParts): Transports {
  const { model, store, cluster, limits, settings, mail, issuer, clock } = parts
  const { logger } = parts.log
  const logFaultsOf = (subject: string) => (error: unknown) => parts.faults.report(error, `${subject} failed`)
  const { counters } = cluster
  const work = createBackground(logFaultsOf('background work'))
  const notices = noticesOf(parts, work)
  const { run, hooks } = openOwnCollections(parts, work, notices)
  const watchdog = loggedWatchdog(settings, logger)
  const logic = logicParts(parts, hooks, watchdog)
  const idempotency = createIdempotency({ run: parts.run, records: parts.records, counters })
  const refresh = () => store.refresh()
  const events = createProcessEvents({
    ...{ feed: store.changes, authenticate: parts.authenticate, refresh, settings },
    onFault: logFaultsOf('the delivery of events'),
  })
  const builtIns = openBuiltIns(parts, notices)
  const oauth = createLazyOauth({
    ...{ ...parts, counters, work, logger },
    own: { run, hooks, webhooks: webhookOperations(run, builtIns.actions) },
    attempts: createTokenLimits(settings, limits, counters),
    onFault: logFaultsOf('the authorization server'),
  })
  const explain = openExplainer({
    ...{ ...parts, idempotency, logic, events, onFault: logFaultsOf('a request that was explained') },
    builtInsOn: (rehearsal, rehearsalRecords) =>
      openBuiltIns({ ...parts, run: rehearsal, records: rehearsalRecords }),
  })
  const { objects } = parts
  const files =
    objects &&
    createFiles({
      ...{ objects, run: parts.run, records: parts.records, settings, logger, now: clock.now },
      onFault: logFaultsOf('removing unused files'),
    })
  const rest = createRest({
    ...{ model, run, hooks, idempotency, logic, baseUrl: settings.baseUrl, files: files?.files },
    ...builtIns,
    explain: (body, principal, draw) => explain.request(body, principal, draw),
    runs: new RunView(parts.records),
    pages: openPortal(parts),
    // Every call is an exchange, which carries the headers of the budget.
    draw: (call, principal, requests) => limits.draw(principal, call as Exchange, requests),
    drawForReply: (call, principal, body) => limits.drawForReply(principal, call as Exchange, body),
    events: {
      ...{ events, feed: store.changes, clientOf },
      ...{ maxAnswerBytes: settings.maxAnswer, maxBufferedBytes },
    },
  })
  const graphql = createLazyGraphql({
    ...{ model, run, hooks, logic, idempotency, events, refresh, limits, settings, issuer },
    ...{ sessions: parts.sessions, mail },
    refusals: parts.refusals,
    onFault: logFaultsOf('a GraphQL operation'),
  })
  const { faults, isDevelopment } = parts
  const lostUpdates = new LostUpdates(logger, clock.now)
  const code = {
    ...{ model, store, run, hooks, mail, settings, logger, clock, watchdog, lostUpdates },
    limits: logic.limits,
  }
  const reactions = openReactions({ ...code, faults })
  const routes = openRoutes({ ...code, rateLimits: limits, isDevelopment })
  const webhooks = openWebhookSender({ ...parts, grants: parts.webhookGrants, logger })
  return {
    run,
    hooks,
    logic,
    lostUpdates,
    rest,
    explain,
    graphql,
    oauth,
    events,
    reactions,
    webhooks,
    deletions: openDeletions(parts),
    routes,
    files,
  }
}

/** The mails that notify users of what an administrator has done to their account. */
function noticesOf({ records, mail, issuer }: TransportParts, { background }: BackgroundWork): NoticeParts {
  return {
    ...{ mail, background, addresses: createAddresses(records) },
    get issuer() {
      return issuer()
    },
  }
}

/** Writes of clients to built-in collections, which have rules beyond those of the model. */
function openOwnCollections(parts: TransportParts, { background }: BackgroundWork, notices: NoticeParts) {
  const { model, run, store, records, secrets, cluster, settings, mail, issuer } = parts
  const name = settings['theme.name']
  const { counters } = cluster
  return ownCollections({
    ...{ run, records, secrets, maxKeysPerUser: settings.quotas.keys, serviceName: name },
    credentialNotices: credentialNotices({ run, records, counters, mail, issuer, background }),
    writeAddress: addressWriter({
      ...{ run, records, mail, issuer, background },
      counters,
    }),
    onDisabled: user => notifyOfDisabling(notices, user),
    webhooks: {
      types: new EventTypes(model),
      allowPrivate: settings['webhooks.allowPrivate'],
      maxPerUser: settings.quotas.webhooks,
      lastEvent: () => store.changes.last(),
    },
  })
}

/** What built-in collections offer beyond items. Without `notices`, for an explanation: nobody gets a mail, and nothing is logged. */
function openBuiltIns(parts: TransportParts, notices?: NoticeParts): BuiltIns {
  const { model, run, records, settings, webhookGrants: grants } = parts
  const secrets = new WebhookSecrets(records, settings.secretOverlap / 1000)
  const accounts = {
    run,
    records,
    sessionSeconds: settings['oauth.lifetimes'].session / 1000,
    ...(notices && { notices }),
  }
  const ofUsers = administrationActions(accounts).get('users')
  const personal = { model, run, records, notices, logger: notices && parts.log.logger }
  return {
    actions: new Map([
      ...webhookActions({ run, secrets, grants }),
      ['users', new Map([...(ofUsers ?? []), ['erase', eraseAction(personal)]])],
    ]),
    subresources: accountSubresources(accounts),
    personalData: openPersonalData(personal),
  }
}

function logicParts(
  { model, settings, clock }: TransportParts,
  hooks: CreateHooks,
  watchdog: Watchdog,
): OperationParts {
  const limits = {
    ...defaultOperationLimits,
    timeMs: settings['logic.limits'].action,
    answers: answerLimitsOf(settings),
  }
  return { model, hooks, watchdog, now: clock.now, limits }
}

/** Loaded with the first change of an e-mail address, to keep starts short. */
function addressWriter(parts: AddressChangeParts): Run['write'] {
  let loading: Promise<Run['write']> | undefined
  const load = async () => {
    const { addressChanges } = await import('../../../identity/accounts/addresses/address-changes.ts')
    return addressChanges(parts)
  }
  return async (plan, principal, within) => {
    loading ??= load()
    return (await loading)(plan, principal, within)
  }
}
