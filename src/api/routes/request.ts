/** A request as a route's code gets it. */
import { isUtf8 } from 'node:buffer'
import type { Call } from '../../base/call.ts'
import { ApiError } from '../../base/errors.ts'
import { isOptional, routeInputShape, withDefaults } from '../../engine/logic/operations/input.ts'
import type { Collection, Route } from '../../model/model.ts'
import type { RouteRequest } from '../../model/types/route.ts'
import { bodyValidator } from '../../model/validate.ts'
import { valueOfParameter } from '../rest/actions/input.ts'
import { isMediaType, readBody } from '../rest/body.ts'
import { parseQuery } from '../rest/query/query-string.ts'

const form = 'application/x-www-form-urlencoded'
const inputTypes = ['application/json', form]

export function requestOf(
  { method, path, query, headers, body, address }: Call,
  params: Readonly<Record<string, string>>,
): RouteRequest {
  let text: string | undefined
  return Object.freeze({
    ...{ method, path, params, ip: address },
    query: new URLSearchParams(query),
    headers: Object.freeze({ ...headers }) as RouteRequest['headers'],
    bytes: body,
    get text() {
      text ??= body.toString('utf8')
      return text
    },
  })
}

/**
 * The checked input with its defaults; without declared fields, empty. Throws BAD_REQUEST, UNSUPPORTED_MEDIA_TYPE, or
 * VALIDATION_FAILED with all faults.
 */
export function inputOf(route: Route, call: Call, at: string, userId: number | null): object {
  if (route.input === undefined) return Object.freeze({})
  const shape = routeInputShape(route)
  const { values } = bodyValidator(shape).create(bodyOf(shape, call))
  return Object.freeze(withDefaults(shape, values, at, userId))
}

function bodyOf(shape: Collection, call: Call): unknown {
  if (call.body.length === 0 && isOptional(shape)) return {}
  if (!isMediaType(call.headers['content-type'] ?? '', [form])) return readBody(call, inputTypes)
  if (!isUtf8(call.body)) throw new ApiError('BAD_REQUEST', 'The body is not valid UTF-8.')
  const parameters = parseQuery(call.body.toString('utf8')).map(parameter => {
    const field = shape.fields.get(parameter.name)
    return [parameter.name, field ? valueOfParameter(parameter, field) : parameter.value] as const
  })
  return Object.fromEntries(parameters)
}
