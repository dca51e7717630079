/** Checks routes: their paths must be their own, and their rules must be about the caller. */
import { isObject } from '../../base/json.ts'
import type { LogicDeclaration, RouteDeclaration, RouteOptions, RouteRateLimit } from '../logic/logic.ts'
import type { Field, Route } from '../model.ts'
import { nobodyRule, type Rule } from '../rule/rule.ts'
import { didYouMean } from '../suggest.ts'
import type { Faults } from './faults.ts'
import { checkFieldName, checkPlainName } from './names.ts'
import { bareOutline } from './outline.ts'
import { dependsOnRow } from './rules.ts'
import { isItem, type OperationCheckContext, valueField } from './values.ts'

const options = ['method', 'path', 'raw', 'input', 'access', 'rateLimit', 'description', 'run']
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
/** Methods whose requests have no body that could be the input (RFC 9110, 9.3). */
const bodilessMethods = ['GET', 'DELETE']

/** The first segments of the paths that Portico serves, planned ones included, in lower case. */
const reservedSegments = new Set(
  'api graphql oauth account docs dev healthz readyz metrics mcp console developers files uploads .well-known'.split(
    ' ',
  ),
)

const segmentForm = /^(?!\.{1,2}$)[A-Za-z0-9._~-]+$/
const parameterForm = /^:[a-z][a-z0-9_]*$/
const maxPathCharacters = 200

const defaultRateLimit = { requests: 6000, seconds: 60 }
const maxRequests = 1_000_000_000
const maxWindowSeconds = 86_400

export function routesOf(
  declared: LogicDeclaration['routes'],
  context: OperationCheckContext,
): ReadonlyMap<string, Route> {
  const { faults } = context
  const routes = new Map<string, Route>()
  for (const [name, declaration] of Object.entries(declared ?? {})) {
    const place = `routes.${name}`
    checkPlainName(name, place, faults)
    if (!isRoute(declaration)) {
      faults.add(place, 'This is not a route. Write `route({ access: anyone, run: … })`.')
      continue
    }
    const checked = routeOf(name, declaration.options, context)
    const other = [...routes.values()].find(route => collide(route, checked))
    if (other !== undefined) {
      faults.add(
        `${place}.path`,
        `${checked.method} ${checked.path} and ${other.path} of \`routes.${other.name}\` can be the same path. Write another path or method.`,
      )
    }
    routes.set(name, checked)
  }
  return routes
}

function isRoute(value: unknown): value is RouteDeclaration {
  return isObject(value) && value.kind === 'route' && isObject(value.options)
}

function isParameter(segment: string): boolean {
  return segment.startsWith(':')
}

/** Whether a request can fit both. */
function collide(one: Route, other: Route): boolean {
  const [first, second] = [one.path.split('/'), other.path.split('/')]
  if (one.method !== other.method || first.length !== second.length) return false
  return first.every((segment, index) => {
    const otherSegment = second[index] ?? ''
    return segment === otherSegment || isParameter(segment) || isParameter(otherSegment)
  })
}

function routeOf(name: string, declared: RouteOptions, context: OperationCheckContext): Route {
  const { faults } = context
  const place = `routes.${name}`
  for (const option of Object.keys(declared)) {
    faults.addUnless(
      options.includes(option),
      place,
      `There is no option \`${option}\`.${didYouMean(option, options)}`,
    )
  }
  const { method = 'POST', path = name, description, run } = declared
  faults.addUnless(
    methods.includes(method),
    `${place}.method`,
    `Write one of ${methods.map(each => `'${each}'`).join(', ')}. A route with GET answers HEAD too.`,
  )
  faults.addUnless(typeof run === 'function', `${place}.run`, 'Write `async run({ request }) { … }`.')
  const fullPath = String(path).startsWith('/') ? String(path) : `/hooks/${path}`
  checkPath(fullPath, `${place}.path`, faults)
  return {
    ...{ name, method, path: fullPath, description, run },
    input: inputOf(place, method, declared, context),
    access: accessOf(place, declared, context),
    rateLimit: rateLimitOf(`${place}.rateLimit`, declared.rateLimit, faults),
  }
}

function checkPath(path: string, place: string, faults: Faults): void {
  const segments = path.split('/').slice(1)
  const [first = ''] = segments
  const isValid = segments.every(segment => segmentForm.test(segment) || parameterForm.test(segment))
  if (!isValid || path.length > maxPathCharacters) {
    faults.add(
      place,
      `\`${path}\` is not a path of a route. Write segments of letters, digits and \`. _ ~ -\`, or \`:name\` for a parameter, with at most ${maxPathCharacters} characters, e.g. \`stripe\` or \`calendars/:token\`.`,
    )
    return
  }
  if (isParameter(first)) {
    faults.add(
      place,
      'The path cannot begin with a parameter: it would be every path. Write a name before it.',
    )
  }
  if (reservedSegments.has(first.toLowerCase())) {
    faults.add(
      place,
      `/${first} is reserved for paths of Portico. Write another path, e.g. \`/hooks${path}\`.`,
    )
  }
  const parameters = segments.filter(isParameter)
  faults.addUnless(
    new Set(parameters).size === parameters.length,
    place,
    'Two parameters have one name. Give each its own.',
  )
}

/** Undefined if the body is not parsed. */
function inputOf(
  place: string,
  method: string,
  { input, raw = false }: RouteOptions,
  context: OperationCheckContext,
): ReadonlyMap<string, Field> | undefined {
  const { faults } = context
  faults.addUnless(typeof raw === 'boolean', `${place}.raw`, 'Write `true`, or omit it.')
  if (input === undefined) return undefined
  const inputPlace = `${place}.input`
  if (!isObject(input)) {
    faults.add(inputPlace, 'Write the fields: `input: { amount: integer() }`.')
    return undefined
  }
  faults.addUnless(
    raw !== true,
    inputPlace,
    'With `raw`, the body is not parsed. Remove `raw` or `input`: `request.bytes` has the body either way.',
  )
  faults.addUnless(
    !bodilessMethods.includes(method),
    inputPlace,
    `A ${method} has no body. Remove \`input\` and read \`request.query\`, or write another \`method\`.`,
  )
  const fields = new Map<string, Field>()
  for (const [name, declared] of Object.entries(input)) {
    checkFieldName(name, `${inputPlace}.${name}`, faults)
    if (isItem(declared) || declared?.link !== undefined) {
      faults.add(
        `${inputPlace}.${name}`,
        'The input of a route has no items. Write `integer()`, and read the item with `data`.',
      )
      continue
    }
    const field = valueField(inputPlace, name, declared, context)
    if (field) fields.set(name, field)
  }
  return fields
}

function accessOf(place: string, { access }: RouteOptions, { rules, faults }: OperationCheckContext): Rule {
  const rulePlace = `${place}.access`
  if (access === undefined) {
    faults.add(
      rulePlace,
      'Say who may call it: `anyone` for what strangers call, and `verify` then checks who has signed; else e.g. `signedIn`.',
    )
    return nobodyRule
  }
  const rule = rules(access, bareOutline(place, {}), rulePlace, nobodyRule)
  faults.addUnless(
    !dependsOnRow(rule),
    rulePlace,
    'There is no item for which the rule could hold. Write a rule about the caller: `anyone`, `signedIn` or `role(…)`.',
  )
  return rule
}

function rateLimitOf(
  place: string,
  declared: RouteRateLimit | undefined,
  faults: Faults,
): Required<RouteRateLimit> {
  if (declared === undefined) return defaultRateLimit
  const { requests, seconds = defaultRateLimit.seconds } = Object(declared) as RouteRateLimit
  const isWhole = (value: unknown, max: number) =>
    Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= max
  faults.addUnless(
    isWhole(requests, maxRequests) && isWhole(seconds, maxWindowSeconds),
    place,
    `Write \`{ requests: 600, seconds: 60 }\`: whole numbers, \`seconds\` at most ${maxWindowSeconds}.`,
  )
  return { requests, seconds }
}
