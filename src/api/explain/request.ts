/** Reads the body of `POST /api/v1/explain`. */
import { ApiError, type FieldFault } from '../../base/errors.ts'

export interface ExplainRequest {
  /** A user's id or e-mail address; null: nobody signed in. */
  readonly as: number | string | null
  readonly scopes: readonly string[] | undefined
  /** The id of an API key, in place of `as` and `scopes`. */
  readonly key: number | undefined
  /** The id of the app through which the user acts, or, without a user, that acts alone. */
  readonly app: number | undefined
  readonly method: string
  /** Including the query. */
  readonly path: string
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
const members = new Set(['as', 'scopes', 'api_key', 'app', 'method', 'path', 'body', 'if_match'])
const maxPathCharacters = 8000
const maxScopes = 200

function isId(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0
}

/** `isRoute`: whether the path is that of a route of the model. Throws VALIDATION_FAILED with every fault of the body. */
export function parseExplainRequest(
  requestBody: unknown,
  isRoute: (path: string) => boolean,
): ExplainRequest {
  if (typeof requestBody !== 'object' || requestBody === null || Array.isArray(requestBody)) {
    throw new ApiError('BAD_REQUEST', 'The body must be a JSON object with `method` and `path`.')
  }
  const {
    as = null,
    scopes,
    api_key: key,
    app,
    method = 'GET',
    path,
    body,
    if_match: ifMatch,
  } = requestBody as Record<string, unknown>
  const faults: FieldFault[] = Object.keys(requestBody)
    .filter(name => !members.has(name))
    .map(field => ({ field, code: 'unknown_field', message: 'There is no such member.' }))
  const check = (holds: boolean, field: string, message: string) => {
    if (!holds) faults.push({ field, code: 'invalid', message })
  }
  const upperMethod = typeof method === 'string' ? method.toUpperCase() : ''
  check(
    as === null || isId(as) || (typeof as === 'string' && as.length <= 320),
    'as',
    'A user id, an e-mail address, or null for nobody.',
  )
  check(key === undefined || isId(key), 'api_key', 'The id of an API key.')
  check(app === undefined || isId(app), 'app', 'The id of an app in oauth_apps.')
  check(
    app === undefined || key === undefined,
    'app',
    'An API key has the app that has made it: omit the app.',
  )
  check(methods.includes(upperMethod), 'method', `One of ${methods.join(', ')}.`)
  check(
    typeof path === 'string' && path.startsWith('/') && path.length <= maxPathCharacters,
    'path',
    'A path that begins with /, e.g. /tasks/7.',
  )
  check(isScopes(scopes), 'scopes', `A list of at most ${maxScopes} scopes.`)
  check(ifMatch === undefined || typeof ifMatch === 'string', 'if_match', 'As the header If-Match.')
  const [first] = faults
  if (first) throw new ApiError('VALIDATION_FAILED', `${first.field}: ${first.message}`, { details: faults })
  return {
    as: as as ExplainRequest['as'],
    scopes: scopes as ExplainRequest['scopes'],
    key: key as number | undefined,
    app: app as number | undefined,
    method: upperMethod,
    path: fullPath(String(path), isRoute),
    body,
    headers: typeof ifMatch === 'string' ? { 'if-match': ifMatch } : {},
  }
}

function isScopes(value: unknown): boolean {
  if (value === undefined) return true
  return (
    Array.isArray(value) &&
    value.length <= maxScopes &&
    value.every(scope => typeof scope === 'string' && scope.length <= 100)
  )
}

function fullPath(path: string, isRoute: (path: string) => boolean): string {
  const [name = ''] = path.split('?')
  return name === '/graphql' || name.startsWith('/api/v1/') || isRoute(name) ? path : `/api/v1${path}`
}
