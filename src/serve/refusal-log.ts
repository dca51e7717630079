/**
 * One line at `debug` for each refusal: what has decided, and no value of an item or of a request. Where `debug` is off,
 * nothing of this runs.
 */
import { ApiError } from '../errors.ts'
import { ruleOf } from '../explain/rule-reasons.ts'
import { ruleSource } from '../explain/rule-source.ts'
import type { Model } from '../model/model.ts'
import type { Logger } from '../observability/log.ts'
import type { Run } from '../plan/run.ts'
import { itemShape, readItem } from '../plan/system-plans.ts'
import { findRoute } from '../rest/routes.ts'

/** Who was refused what. */
export interface RefusedRequest {
  /** Undefined: over a WebSocket. */
  readonly requestId: string | undefined
  /** As far as it is known. */
  readonly userId?: number | null
  readonly path: string
}

/** `field`: in the reply, for an error of GraphQL. */
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

/** Undefined where nobody reads it. */
export function refusalLog(parts: RefusalLogParts): RefusalLog | undefined {
  const { logger } = parts
  if (!logger.isLevelEnabled('debug')) return undefined
  return (error, request, field) => {
    // Faults have lines of their own.
    if (!(error instanceof ApiError) || error.status >= 500) return
    const { requestId: request_id, userId: user_id } = request
    const note = (reason: object) => logger.debug({ request_id, user_id, ...reason }, 'refused')
    const facts = { ...factsOf(parts.model, error), ...(field && { path: shownPath(field) }) }
    if (error.code !== 'NOT_FOUND' || error.refused || field) note(facts)
    else void absenceOf(parts, request.path).then(absence => note({ ...facts, ...absence }))
  }
}

function factsOf(model: Model, { code, scope, refused, details, message }: ApiError): object {
  const { collection: name = '', operation = '', fields: refusedFields } = refused ?? {}
  const collection = model.collections.get(name)
  const rule = refusedFields ? undefined : ruleOf(model, collection, operation)
  const fields = refusedFields ?? details?.map(({ field }) => field)
  const rules = refusedFields?.map(one => {
    const access = collection?.fields.get(one)?.access
    return access && ruleSource(operation === 'read' ? access.read : access.write)
  })
  return {
    code,
    ...(name !== '' && { collection: name }),
    ...(operation !== '' && { operation }),
    ...(scope !== undefined && { scope }),
    ...(rule && { rule: ruleSource(rule) }),
    ...(fields && { fields: fields.slice(0, maxFields).map(shownName) }),
    ...(rules && { rules: rules.slice(0, maxFields) }),
    reason: withoutValues(message),
  }
}

const maxFields = 20

/** Names that a client has made up are not repeated: they may be anything, of any length. */
function shownName(name: string): string {
  return /^[a-z0-9_.[\]]{1,80}$/.test(name) ? name : '(another)'
}

function shownPath(path: readonly (string | number)[]): string {
  return path
    .slice(0, maxFields)
    .map(key => (/^\w{1,80}$/.test(String(key)) ? key : '(another)'))
    .join('.')
}

const maxReasonCharacters = 300

/** Messages repeat what clients have sent as JSON texts. */
function withoutValues(message: string): string {
  return message.replaceAll(/"(?:[^"\\]|\\.)*"/g, '"…"').slice(0, maxReasonCharacters)
}

/** Whether the item that a path names is hidden, by a read of its id: as much work as the request itself was. */
async function absenceOf({ model, run }: RefusalLogParts, path: string): Promise<object> {
  const route = findRoute(model, path)
  if (route === undefined || !('id' in route) || !('collection' in route) || !route.collection) return {}
  const { collection, id } = route
  if (id === undefined) return {}
  const base = { collection: collection.name, operation: 'read' }
  try {
    const found = await readItem(run, itemShape(collection.name, ['id']), id)
    if (found === undefined) return { ...base, reason: 'There is no such item.' }
    const reason = 'The item is there: the rule hides it, or it is not at this path.'
    return { ...base, rule: ruleSource(collection.access.read), reason }
  } catch {
    // The database is away, or closed.
    return base
  }
}
