/** Opens the explainer: the transports of the service, with a `run` that rolls all changes back. */

import type { Events } from '../../../api/events/events.ts'
import {
  createExplainer,
  type Draw,
  type Explainer,
  type RehearsalTransports,
} from '../../../api/explain/explain.ts'
import type { BuiltIns } from '../../../api/rest/actions/action.ts'
import { createRest } from '../../../api/rest/rest.ts'
import { forwarding, type Records } from '../../../base/records.ts'
import { RunView } from '../../../delivery/runs/view.ts'
import type { RateCounters } from '../../../engine/cluster/cluster.ts'
import type { RateLimits } from '../../../engine/cluster/rate-limits.ts'
import type { Idempotency } from '../../../engine/idempotency/idempotency.ts'
import type { OperationParts } from '../../../engine/logic/operations/call.ts'
import { createGuard } from '../../../engine/plan/guard/guard.ts'
import type { Run } from '../../../engine/plan/run.ts'
import type { Store } from '../../../engine/store/store.ts'
import type { Mailer } from '../../../identity/mail/mailer.ts'
import { english } from '../../../identity/mail/page-texts.ts'
import { ownCollections } from '../../../identity/own-collections.ts'
import { AppSecrets } from '../../../identity/server/clients/app-secrets.ts'
import { type Apps, rightsOfApp } from '../../../identity/server/clients/apps.ts'
import type { RightsOfGrant } from '../../../identity/server/consent/live-grants.ts'
import { EventTypes } from '../../../identity/webhooks/event-types.ts'
import type { WebhookGrants } from '../../../identity/webhooks/grants.ts'
import type { Model } from '../../../model/model.ts'
import type { Settings } from '../../config/config.ts'

export interface ExplainParts {
  readonly model: Model
  /** Runs plans without the rules of the built-in collections. */
  readonly run: Run
  readonly store: Store
  readonly records: Records
  readonly webhookGrants: WebhookGrants
  readonly apps: Apps
  readonly rightsOfGrant: RightsOfGrant
  readonly limits: Pick<RateLimits, 'limitsOf'>
  readonly settings: Settings
  readonly idempotency: Idempotency
  readonly logic: OperationParts
  readonly events: Events
  /** The built-in actions and subresources on another run and other records, without mail. */
  readonly builtInsOn: (run: Run, records: Records) => BuiltIns
  readonly onFault: (error: unknown) => void
}

export function openExplainer(parts: ExplainParts): Explainer {
  const { model, run, store, onFault, rightsOfGrant, limits } = parts
  const guard = createGuard(model)
  const { now } = parts.logic
  const transportsOn = (rehearsal: Run, draw: Draw) => rehearsalTransports(parts, rehearsal, draw)
  return createExplainer({
    ...{ model, guard, run, store, now, onFault, transportsOn, rightsOfGrant },
    rightsOfApp: clientId => rightsOfApp(parts.apps, parts.records, clientId),
    limitsOf: (principal, route) => limits.limitsOf(principal, route),
  })
}

/** Reads the records; writes do nothing, since a rehearsed request must not store any. */
function readOnly(records: Records): Records {
  return {
    ...forwarding(records),
    put: async () => {},
    add: async () => true,
    swap: async () => true,
    consume: async () => true,
    delete: async () => true,
    deleteGrant: async () => 0,
    deleteOwned: async () => 0,
  }
}

/** Counters that grant everything, so that an explanation uses nobody's budget. */
const unlimitedCounters: RateCounters = {
  take: (_key, limit) => ({ limit, remaining: limit, resetAt: 0, granted: true }),
  give: () => {},
}

const silentMailer: Mailer = {
  delivers: true,
  send: async () => {},
  sendTemplate: async () => {},
  rememberLanguage: async () => {},
  pageLanguage: () => english,
  pageLanguageOf: async () => english,
}

function rehearsalTransports(parts: ExplainParts, rehearsal: Run, draw: Draw): RehearsalTransports {
  const { model, store, settings, idempotency, events } = parts
  const records = readOnly(parts.records)
  const { run, hooks } = rehearsalCollections(parts, rehearsal, records)
  const logic = { ...parts.logic, hooks }
  return {
    rest: createRest({
      ...{ model, run, hooks, idempotency, logic, baseUrl: settings.baseUrl },
      ...parts.builtInsOn(rehearsal, records),
      draw: (_call, _principal, requests) => draw(requests),
      runs: new RunView(records),
      events: {
        ...{ events, feed: store.changes, maxAnswerBytes: settings.maxAnswer, maxBufferedBytes: 0 },
        clientOf: () => ({ credential: undefined, address: '127.0.0.1', onGone: () => () => {} }),
      },
    }),
    async graphql(call, body, principal) {
      const { rehearseGraphql } = await import('./explain-graphql.ts')
      return rehearseGraphql(
        { model, run, hooks, settings, logic, onFault: parts.onFault, draw },
        call,
        body,
        principal,
      )
    },
  }
}

function rehearsalCollections({ model, store, settings }: ExplainParts, run: Run, records: Records) {
  return ownCollections({
    ...{ run, records, maxKeysPerUser: settings.quotas.keys, serviceName: settings['theme.name'] },
    secrets: new AppSecrets({ run, overlapSeconds: settings.secretOverlap / 1000 }),
    // Sends no mail, uses no allowance, and stores no address to be confirmed.
    async writeAddress(plan, principal, within) {
      const { addressChanges } = await import('../../../identity/accounts/addresses/address-changes.ts')
      const parts = {
        run,
        records,
        counters: unlimitedCounters,
        mail: silentMailer,
        issuer: () => '',
        background: () => {},
      }
      return addressChanges(parts)(plan, principal, within)
    },
    webhooks: {
      types: new EventTypes(model),
      allowPrivate: settings['webhooks.allowPrivate'],
      maxPerUser: settings.quotas.webhooks,
      lastEvent: () => store.changes.last(),
    },
  })
}
