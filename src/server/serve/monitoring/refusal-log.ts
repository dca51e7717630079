/**
 * Logs a line at `debug` for each refusal, with its reason, but without any value of an item or of the request. Does
 * nothing if `debug` is off.
 */

import type { IncomingHttpHeaders } from 'node:http'
import { ruleOf } from '../../../api/explain/rule-reasons.ts'
import { RequestFailed } from '../../../api/graphql/request-error.ts'
import { listParameters } from '../../../api/rest/query/list-parameters.ts'
import { kindOf } from '../../../api/rest/route-kinds.ts'
import { findRoute } from '../../../api/rest/routes.ts'
import { ApiError, type ErrorCode } from '../../../base/errors.ts'
import type { Run } from '../../../engine/plan/run.ts'
import { itemShape, listShape, readFirst, readItem, where } from '../../../engine/plan/system-plans.ts'
import { isKey, keyHash } from '../../../identity/keys/key.ts'
import { textOperators } from '../../../model/fields/textual.ts'
import type { Model } from '../../../model/model.ts'
import { ruleSource } from '../../../model/rule/rule-text.ts'
import type { Logger } from '../../observability/log.ts'

/** A refused request. */
export interface RefusedRequest {
  /** Undefined over a WebSocket. */
  readonly requestId: string | undefined
  /** Undefined before the credential is checked. */
  readonly userId?: number | null
  readonly path: string
  readonly headers?: IncomingHttpHeaders
}

/** `field`: the path of an error in a GraphQL reply. */
export type RefusalLog = (
  error: unknown,
  request: RefusedRequest,
  field?: readonly (string | number)[],
) => void

interface RefusalLogParts {
  readonly model: Model
  readonly run: Run
  readonly logger: Logger
}

/** Undefined if `debug` is off. */
export function refusalLog(parts: RefusalLogParts): RefusalLog | undefined {
  const { logger } = parts
  if (!logger.isLevelEnabled('debug')) return undefined
  const showName = nameFilter(parts.model)
  return (thrown, { requestId: request_id, userId: user_id, path, headers }, field = []) => {
    const logRefusal = (reason: object) => logger.debug({ request_id, user_id, ...reason }, 'refused')
    if (thrown instanceof RequestFailed) logRefusal(documentFacts(thrown))
    // Server errors are logged elsewhere.
    if (!(thrown instanceof ApiError) || thrown.status >= 500) return
    const facts = factsOf(parts.model, thrown, showName)
    if (field.length > 0) logRefusal({ ...facts, path: shownPath(field, showName) })
    else {
      const lookup = thrown.refused ? undefined : lookUpFacts(parts, thrown.code, path, headers)
      if (lookup === undefined) logRefusal(facts)
      else void lookup.then(moreFacts => logRefusal({ ...facts, ...moreFacts }))
    }
  }
}

/** The facts about a GraphQL document that was not executed. */
function documentFacts({ requestError: { errors } }: RequestFailed): object {
  const [first] = errors
  return { code: first?.extensions?.code, reason: withoutValues(first?.message ?? '') }
}

function factsOf(
  model: Model,
  { code, scope, refused, details, message }: ApiError,
  showName: ShowName,
): object {
  const { collection: name = '', operation = '', fields: refusedFields } = refused ?? {}
  const collection = model.collections.get(name)
  const rule = refusedFields ? undefined : ruleOf(model, collection, operation)
  const fields = refusedFields ?? details?.map(({ field }) => field)
  const rules = refusedFields?.map(field => {
    const access = collection?.fields.get(field)?.access
    return access && ruleSource(operation === 'read' ? access.read : access.write)
  })
  return {
    code,
    ...(name !== '' && { collection: name }),
    ...(operation !== '' && { operation }),
    ...(scope !== undefined && { scope }),
    ...(rule && { rule: ruleSource(rule) }),
    ...(fields && { fields: fields.slice(0, maxFields).map(showName) }),
    ...(rules && { rules: rules.slice(0, maxFields) }),
    reason: withoutValues(message),
  }
}

const maxFields = 20

/** Replaces names that the model does not have: a client may have sent anything. */
type ShowName = (name: string) => string

function nameFilter({ collections, logic }: Model): ShowName {
  const knownNames = new Set([...listParameters.keys(), 'operations', 'body'])
  for (const { name: collection, singular, fields, computed, relations } of collections.values()) {
    knownNames.add(collection).add(singular)
    for (const name of [...fields.keys(), ...computed.keys(), ...relations.keys()]) knownNames.add(name)
  }
  for (const { input } of [...logic.actions.values(), ...logic.queries.values()]) {
    for (const name of input.keys()) knownNames.add(name)
  }
  // E.g. `[3].title`, `created_at[gte]`.
  const isKnown = (part: string) => /^\d{0,4}$/.test(part) || knownNames.has(part) || operators.has(part)
  return name =>
    name.length <= maxNameCharacters && name.split(/[.[\]]/).every(isKnown) ? name : '(another)'
}

const operators: ReadonlySet<string> = new Set(textOperators)
const maxNameCharacters = 200

/** The path without aliases, which the client chooses. */
function shownPath(path: readonly (string | number)[], showName: ShowName): string {
  return path
    .slice(0, maxFields)
    .map(key => (typeof key === 'number' ? key : showName(snakeCase(key))))
    .join('.')
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}

const maxReasonCharacters = 300

/** The message without quoted texts, which the client may have sent. */
function withoutValues(message: string): string {
  return message.replaceAll(/"(?:[^"\\]|\\.)*"/g, '"…"').slice(0, maxReasonCharacters)
}

/** Reads further facts with one read by key; undefined if there are none to read. */
function lookUpFacts(
  parts: RefusalLogParts,
  code: ErrorCode,
  path: string,
  headers: IncomingHttpHeaders = {},
): Promise<object> | undefined {
  if (code === 'NOT_FOUND') return hiddenItem(parts, path)
  if (code !== 'UNAUTHORIZED') return undefined
  const { authorization = '', 'x-api-key': key = authorization.replace(/^Bearer +/i, '') } = headers
  return isKey(String(key)) ? refusedKey(parts, String(key)) : undefined
}

const keyByHash = listShape('api_keys', ['id', 'expires_at'], where('hash'))

interface KeyRow {
  readonly id: number
  readonly expires_at: string | null
}

async function refusedKey({ run }: RefusalLogParts, key: string): Promise<object> {
  try {
    const row = await readFirst<KeyRow>(run, keyByHash, keyHash(key))
    if (row === undefined) return { reason: 'There is no such API key: it was revoked, or never existed.' }
    const { id, expires_at: expiresAt } = row
    const reason =
      expiresAt === null
        ? 'Its account is disabled.'
        : `It expires at ${expiresAt}, or its account is disabled.`
    return { api_key: id, reason }
  } catch {
    return {}
  }
}

/** Whether the item of a path is hidden or does not exist. One read by id, as in the request itself. */
async function hiddenItem({ model, run }: RefusalLogParts, path: string): Promise<object> {
  const route = findRoute(model, path)
  const named = route && kindOf(route).item(route)
  if (named === undefined) return {}
  const { collection, id } = named
  const base = { collection: collection.name, operation: 'read' }
  try {
    const item = await readItem(run, itemShape(collection.name, ['id']), id)
    if (item === undefined) return { ...base, reason: 'There is no such item.' }
    const reason = 'The item exists: the rule hides it, or it is not at this path.'
    return { ...base, rule: ruleSource(collection.access.read), reason }
  } catch {
    // The database is unavailable or closed.
    return base
  }
}
