/** Rules for creating and changing webhooks, besides those of the model. */
import { ApiError, type FieldFault } from '../../errors.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import { type Awaitable, then } from '../../plan/answer.ts'
import type { Plan, WriteShape } from '../../plan/plan.ts'
import { recentSignInRule } from '../../plan/recent-sign-in.ts'
import type { CreateHook, Run, WriteRule } from '../../plan/run.ts'
import { itemShape, readItem } from '../../plan/system-plans.ts'
import { hasScope, type Principal, type Scopes } from '../../principal.ts'
import type { EventTypes, WantedEvents } from './event-types.ts'
import { newWebhookSecret, secretRecord } from './secrets.ts'
import { type StoredWebhook, webhookById } from './stored.ts'
import { urlFault } from './url-faults.ts'

export interface WebhookRuleParts {
  /** For Portico's own reads. */
  readonly run: Run
  readonly types: EventTypes
  readonly allowPrivate: boolean
  readonly maxPerUser: number
  /** The number of the newest event. */
  readonly lastEvent: () => Awaitable<number>
}

const ownerOfApp = itemShape('oauth_apps', ['user_id'])

type Values = Readonly<Record<string, JsonValue | undefined>>

/** The events that a body names, checked by the schema. What the body omits is undefined. */
function wantedIn({ types, collections }: Values): Partial<WantedEvents> {
  return {
    ...(types !== undefined && { types: types as readonly string[] }),
    ...(collections !== undefined && { collections: collections as readonly string[] | null }),
  }
}

/** Throws VALIDATION_FAILED with all faults of the values. */
function requireValid(values: Values, { types, allowPrivate }: WebhookRuleParts): void {
  const { url } = values
  const ofUrl = typeof url === 'string' ? urlFault(url, allowPrivate) : undefined
  const faults: readonly FieldFault[] = [...(ofUrl ? [ofUrl] : []), ...types.faults(wantedIn(values))]
  const [first] = faults
  if (first !== undefined) throw new ApiError('VALIDATION_FAILED', first.message, { details: faults })
}

function missingScope(scopes: Scopes, needed: readonly string[]): string | undefined {
  return needed.find(scope => !hasScope(scopes, scope))
}

/** Throws FORBIDDEN for a credential that expires without a grant or key: the webhook could not end with it. */
export function requireLasting({ grant, expiresAt }: Principal): void {
  if (grant !== null || !Number.isFinite(expiresAt)) return
  throw new ApiError(
    'FORBIDDEN',
    'The webhook would outlive this credential. Use an API key, or an access token of an app.',
  )
}

/** For creates of `webhooks`: a secret, and the scopes and grant of the credential. */
export function newWebhookHook(parts: WebhookRuleParts): CreateHook {
  const { maxPerUser } = parts
  const refusal = `You may have ${maxPerUser} webhooks, and have as many: delete one first.`
  const most = { field: 'user_id', count: maxPerUser, refusal }
  return (values, principal) => {
    const { userId, access, grant } = principal
    if (userId === null) throw new ApiError('UNAUTHORIZED')
    requireValid(values, parts)
    requireLasting(principal)
    const wanted = { types: [], collections: null, ...wantedIn(values) }
    const missing = missingScope(access.scopes, parts.types.scopesFor(wanted))
    if (missing !== undefined) {
      throw new ApiError('INSUFFICIENT_SCOPE', `These events need the scope ${missing}.`, { scope: missing })
    }
    const secret = newWebhookSecret()
    const scopes = listed(access.scopes)
    const ready = then(requireOwnApp(parts, values.app_id, userId), () => parts.lastEvent())
    return then(ready, position => ({
      computed: { scopes, grant, position },
      revealed: { secret },
      most,
      *afterwards(id) {
        yield { kind: 'put', record: secretRecord(id, userId, secret) }
      },
    }))
  }
}

/** Administrators can read the apps of others, but the users of these apps have granted them nothing. */
function requireOwnApp(
  { run }: WebhookRuleParts,
  id: JsonValue | undefined,
  userId: number,
): Awaitable<void> {
  if (typeof id !== 'number') return undefined
  return then(readItem<{ readonly user_id: number }>(run, ownerOfApp, id), app => {
    if (app === undefined || app.user_id === userId) return
    const message = 'There is no such item in oauth_apps.'
    throw new ApiError('VALIDATION_FAILED', undefined, {
      details: [{ field: 'app_id', code: 'not_found', message }],
    })
  })
}

/** The value of the field `scopes`. */
function listed(scopes: Scopes): readonly string[] | null {
  return scopes === 'all' || scopes.has('*') ? null : [...scopes].sort()
}

/** The fields that decide what is sent, and where. */
const decisive = ['url', 'types', 'collections'] as const

/**
 * For updates of `webhooks`: the rules for creates. A webhook keeps the scopes of the credential that created it, so only a
 * credential with all of them may change what is sent, or where.
 */
export function webhookRule(parts: WebhookRuleParts): WriteRule {
  return (plan, principal) => {
    const { shape, args } = plan
    if (shape.kind !== 'update') return undefined
    const values = decisiveValues(plan)
    const changesEvents = shape.mode === 'replace' || Object.keys(values).length > 0
    if (!changesEvents) return undefined
    requireValid(values, parts)
    return then(webhookById(parts.run, Number(args[shape.id])), webhook => {
      // The guard refuses a webhook of another user as if it did not exist.
      if (webhook?.user_id !== principal.userId) return undefined
      requireAllScopes(webhook, principal)
      const kept = shape.mode === 'replace' ? { types: webhook.types, collections: null } : webhook
      requireWithinScopes(webhook, { ...kept, ...wantedIn(values) }, parts.types)
      return undefined
    })
  }
}

/** As `recentSignInRule`. Turning a webhook off removes access, so a write that does only that needs no recent sign-in. */
export const webhookSignInRule: WriteRule = (plan, principal) =>
  turnsOff(plan) ? undefined : recentSignInRule(plan, principal)

function turnsOff({ shape, args }: Plan<WriteShape>): boolean {
  if (shape.kind !== 'update' || shape.mode !== 'merge') return false
  const [only, ...others] = shape.set
  return only?.field === 'enabled' && args[only.param] === false && others.length === 0
}

function decisiveValues({ shape, args }: Plan<WriteShape>): Values {
  if (shape.kind !== 'update') return {}
  const given = decisive.flatMap(field => {
    const found = shape.set.find(one => one.field === field)
    return found === undefined ? [] : [[field, args[found.param] ?? null] as const]
  })
  return Object.fromEntries(given)
}

/** Throws unless the credential has every scope that the webhook has. */
export function requireAllScopes({ scopes }: StoredWebhook, { access }: Principal): void {
  if (scopes === null) {
    if (listed(access.scopes) === null) return
    throw new ApiError(
      'FORBIDDEN',
      'This webhook was made by a credential with all scopes: only another such credential may change what it sends, and where.',
    )
  }
  const missing = missingScope(access.scopes, scopes)
  if (missing === undefined) return
  const message = `This webhook has the scope ${missing}: only a credential that has it too may change what is sent, and where.`
  throw new ApiError('INSUFFICIENT_SCOPE', message, { scope: missing })
}

function requireWithinScopes({ scopes }: StoredWebhook, wanted: WantedEvents, types: EventTypes): void {
  const missing = scopes && missingScope(new Set(scopes), types.scopesFor(wanted))
  if (!missing) return
  const message = `These events need the scope ${missing}, which the webhook was made without: make another webhook.`
  throw new ApiError('VALIDATION_FAILED', message, {
    details: [{ field: 'types', code: 'not_allowed', message }],
  })
}
