/** Rules for creating and changing webhooks, besides those of the model. */

import { type Awaitable, then } from '../../base/awaitable.ts'
import { ApiError, type FieldFault } from '../../base/errors.ts'
import { hasScope, type Principal, type Scopes } from '../../base/principal.ts'
import type { Plan, WriteShape } from '../../engine/plan/plan.ts'
import { recentSignInRule } from '../../engine/plan/recent-sign-in.ts'
import type { CreateHook, Run, WriteRule } from '../../engine/plan/run.ts'
import { itemShape, readItem } from '../../engine/plan/system-plans.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { EventSelection, EventTypes } from './event-types.ts'
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

/** The events that a body names, which the schema has validated. Undefined where the body names none. */
function selectionIn({ types, collections }: Values): Partial<EventSelection> {
  return {
    ...(types !== undefined && { types: types as readonly string[] }),
    ...(collections !== undefined && { collections: collections as readonly string[] | null }),
  }
}

/** Throws VALIDATION_FAILED with all faults of the values. */
function requireValid(values: Values, { types, allowPrivate }: WebhookRuleParts): void {
  const { url } = values
  const faultOfUrl = typeof url === 'string' ? urlFault(url, allowPrivate) : undefined
  const faults: readonly FieldFault[] = [
    ...(faultOfUrl ? [faultOfUrl] : []),
    ...types.faults(selectionIn(values)),
  ]
  const [first] = faults
  if (first !== undefined) throw new ApiError('VALIDATION_FAILED', first.message, { details: faults })
}

function missingScope(scopes: Scopes, needed: readonly string[]): string | undefined {
  return needed.find(scope => !hasScope(scopes, scope))
}

/** Throws FORBIDDEN for a credential that expires but belongs to no grant or key: the webhook would not end with it. */
export function requireLasting({ grant, expiresAt }: Principal): void {
  if (grant !== null || !Number.isFinite(expiresAt)) return
  throw new ApiError(
    'FORBIDDEN',
    'The webhook would outlive this credential. Use an API key, or an access token of an app.',
  )
}

/** For creates of `webhooks`: adds a secret, and the scopes and grant of the credential. */
export function newWebhookHook(parts: WebhookRuleParts): CreateHook {
  const { maxPerUser } = parts
  const refusal = `You may have at most ${maxPerUser} webhooks. Delete one first.`
  const limit = { field: 'user_id', count: maxPerUser, refusal }
  return (values, principal) => {
    const { userId, access, grant } = principal
    if (userId === null) throw new ApiError('UNAUTHORIZED')
    requireValid(values, parts)
    requireLasting(principal)
    const selection = { types: [], collections: null, ...selectionIn(values) }
    const missing = missingScope(access.scopes, parts.types.scopesFor(selection))
    if (missing !== undefined) {
      throw new ApiError('INSUFFICIENT_SCOPE', `These events need the scope ${missing}.`, { scope: missing })
    }
    const secret = newWebhookSecret()
    const scopes = storedScopes(access.scopes)
    const position = then(requireOwnApp(parts, values.app_id, userId), () => parts.lastEvent())
    return then(position, lastEvent => ({
      computed: { scopes, grant, position: lastEvent },
      revealed: { secret },
      limit,
      *afterwards(id) {
        yield { kind: 'put', record: secretRecord(id, userId, secret) }
      },
    }))
  }
}

/** Throws VALIDATION_FAILED for an app of another user: administrators can read it, but its users have granted them nothing. */
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

/** The scopes as the field `scopes` stores them. */
function storedScopes(scopes: Scopes): readonly string[] | null {
  return scopes === 'all' || scopes.has('*') ? null : [...scopes].sort()
}

/** The fields that determine what is sent, and where. */
const targetFields = ['url', 'types', 'collections'] as const

/**
 * For updates of `webhooks`: the rules for creates. A webhook keeps the scopes of the credential that created it, so only a
 * credential with all of them may change what is sent, or where.
 */
export function webhookRule(parts: WebhookRuleParts): WriteRule {
  return (plan, principal) => {
    const { shape, args } = plan
    if (shape.kind !== 'update') return undefined
    const values = targetValues(plan)
    const changesEvents = shape.mode === 'replace' || Object.keys(values).length > 0
    if (!changesEvents) return undefined
    requireValid(values, parts)
    return then(webhookById(parts.run, Number(args[shape.id])), webhook => {
      // The guard refuses a webhook of another user as if it did not exist.
      if (webhook?.user_id !== principal.userId) return undefined
      requireAllScopes(webhook, principal)
      // A replacement that omits `collections` selects all of them.
      const current = shape.mode === 'replace' ? { types: webhook.types, collections: null } : webhook
      requireWithinScopes(webhook, { ...current, ...selectionIn(values) }, parts.types)
      return undefined
    })
  }
}

/** Like `recentSignInRule`, except that a write that only disables a webhook removes access, and so needs no recent sign-in. */
export const webhookSignInRule: WriteRule = (plan, principal) =>
  onlyDisables(plan) ? undefined : recentSignInRule(plan, principal)

function onlyDisables({ shape, args }: Plan<WriteShape>): boolean {
  if (shape.kind !== 'update' || shape.mode !== 'merge') return false
  const [first, ...others] = shape.set
  return first?.field === 'enabled' && args[first.param] === false && others.length === 0
}

function targetValues({ shape, args }: Plan<WriteShape>): Values {
  if (shape.kind !== 'update') return {}
  const entries = targetFields.flatMap(name => {
    const assignment = shape.set.find(({ field }) => field === name)
    return assignment === undefined ? [] : [[name, args[assignment.param] ?? null] as const]
  })
  return Object.fromEntries(entries)
}

/** Throws unless the credential has every scope that the webhook has. */
export function requireAllScopes({ scopes }: StoredWebhook, { access }: Principal): void {
  if (scopes === null) {
    if (storedScopes(access.scopes) === null) return
    throw new ApiError(
      'FORBIDDEN',
      'This webhook was created with a credential that has all scopes. Only another such credential may change what it sends, and where.',
    )
  }
  const missing = missingScope(access.scopes, scopes)
  if (missing === undefined) return
  const message = `This webhook has the scope ${missing}. Only a credential that has this scope too may change what is sent, and where.`
  throw new ApiError('INSUFFICIENT_SCOPE', message, { scope: missing })
}

function requireWithinScopes({ scopes }: StoredWebhook, selection: EventSelection, types: EventTypes): void {
  const missing = scopes && missingScope(new Set(scopes), types.scopesFor(selection))
  if (!missing) return
  const message = `These events need the scope ${missing}, which the webhook does not have. Create another webhook.`
  throw new ApiError('VALIDATION_FAILED', message, {
    details: [{ field: 'types', code: 'not_allowed', message }],
  })
}
