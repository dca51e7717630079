/** What explains requests: the transports of the service on a run of which nothing stays. */
import { ownCollections } from '../auth/own-collections.ts'
import type { AppSecrets } from '../auth/server/clients/app-secrets.ts'
import { EventTypes } from '../auth/webhooks/event-types.ts'
import type { WebhookGrants } from '../auth/webhooks/grants.ts'
import { WebhookSecrets } from '../auth/webhooks/secrets.ts'
import type { Settings } from '../config.ts'
import { createExplainer, type Explainer, type Rehearsed } from '../explain/explain.ts'
import { requestOf } from '../graphql/request.ts'
import type { Idempotency } from '../idempotency.ts'
import type { OperationParts } from '../logic/operations/call.ts'
import type { Model } from '../model/model.ts'
import { createGuard } from '../plan/guard.ts'
import type { Run } from '../plan/run.ts'
import type { Records } from '../records.ts'
import { createRest } from '../rest/rest.ts'
import type { Store } from '../store/store.ts'
import { accountSubresources, administrationActions } from './administration.ts'
import { engineOptions } from './graphql.ts'
import { webhookActions } from './webhooks.ts'

export interface ExplainParts {
  readonly model: Model
  /** Without the rules of the built-in collections. */
  readonly run: Run
  readonly store: Store
  readonly records: Records
  readonly secrets: AppSecrets
  readonly webhookGrants: WebhookGrants
  readonly settings: Settings
  readonly idempotency: Idempotency
  readonly logic: OperationParts
}

export function openExplainer(parts: ExplainParts): Explainer {
  const { model, run, store } = parts
  const guard = createGuard(model)
  return createExplainer({
    model,
    guard,
    run,
    store,
    now: parts.logic.now,
    transportsOn: on => rehearsed(parts, on),
  })
}

/** Records as they are: what a rehearsed request would store of them is not stored. */
function unwritten(records: Records): Records {
  return {
    get: (kind, id) => records.get(kind, id),
    byAlias: (kind, alias) => records.byAlias(kind, alias),
    byOwner: (kind, owner) => records.byOwner(kind, owner),
    all: kind => records.all(kind),
    after: (kind, id, limit) => records.after(kind, id, limit),
    version: kind => records.version(kind),
    put: async () => {},
    add: async () => true,
    swap: async () => true,
    consume: async () => true,
    delete: async () => true,
    deleteGrant: async () => 0,
    deleteOwned: async () => 0,
  }
}

function rehearsed(parts: ExplainParts, rehearsal: Run): Rehearsed {
  const { model, store, secrets, settings, idempotency, webhookGrants: grants } = parts
  const records = unwritten(parts.records)
  const { run, hooks } = ownCollections({
    ...{ run: rehearsal, records, secrets, maxKeysPerUser: settings.maxKeysPerUser },
    serviceName: settings['theme.name'],
    // The address would change, or wait to be confirmed: no message is sent.
    writeAddress: rehearsal.write,
    webhooks: {
      types: new EventTypes(model),
      allowPrivate: settings['webhooks.allowPrivate'],
      maxPerUser: settings['webhooks.maxPerUser'],
      lastEvent: () => store.changes.last(),
    },
  })
  const ofWebhooks = webhookActions({
    ...{ run, grants, secrets: new WebhookSecrets(records, settings['webhooks.secretOverlap']) },
  })
  const accounts = { run: rehearsal, records, sessionLife: settings['oauth.sessionLife'] }
  const actions = new Map([...ofWebhooks, ...administrationActions(accounts)])
  const subresources = accountSubresources(accounts)
  const logic = { ...parts.logic, hooks }
  return {
    rest: createRest({
      ...{ model, run, hooks, idempotency, logic, actions, subresources },
      baseUrl: settings.baseUrl,
    }),
    async graphql(body, principal) {
      const { createEngine } = await import('../graphql/execute/create-engine.ts')
      const engine = createEngine({ ...engineOptions({ model, run, hooks, settings }), logic })
      const request = requestOf(body)
      const prepared = engine.prepare(request.query ?? '', request.operationName)
      if (prepared.outcome === 'request error') return prepared.text
      const bound = engine.bind(prepared, request.variables)
      if (bound.outcome === 'request error') return bound.text
      if (prepared.operation === 'subscription')
        return '{"errors":[{"message":"Subscriptions are not explained."}]}'
      const onFault = () => {}
      return (await engine.execute(bound, principal, { rateLimit: undefined, onFault })).text
    },
  }
}
