/** Samples of the typed client, one for each operation that it has. */

import { exists } from '../../../../model/crud.ts'
import type { JsonValue } from '../../../../model/fields/type.ts'
import type { Collection, Model } from '../../../../model/model.ts'
import { prefix } from '../../routes.ts'

export interface SampledOperation {
  readonly method: string
  /** With its parameters in braces. */
  readonly path: string
  /** The example of the body, or of the query of a model's query. */
  readonly input: JsonValue | undefined
}

const identifier = /^[A-Za-z_$][\w$]*$/

/** A JSON value as TypeScript source. `indent`: the indentation of its lines. */
export function literal(value: JsonValue, indent = ''): string {
  if (Array.isArray(value)) return `[${value.map(item => literal(item, indent)).join(', ')}]`
  if (typeof value === 'string') return quoted(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inner = `${indent}  `
  const members = Object.entries(value).map(([name, member]) => {
    const key = identifier.test(name) ? name : quoted(name)
    return `${inner}${key}: ${literal(member, inner)},\n`
  })
  return members.length === 0 ? '{}' : `{\n${members.join('')}${indent}}`
}

function quoted(text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}

type SampleCall = (singular: string, body: string) => string

/** Calls on a collection, and on one of its items. */
const collectionCalls: Readonly<Record<string, SampleCall>> = {
  'get ': () => 'const { data, meta } = await $.list({ perPage: 20 })',
  'post ': (singular, body) => `const ${singular} = await $.create(${body})`,
  'get /aggregate': () => 'const { data } = await $.aggregate()',
  'get /{id}': singular => `const ${singular} = await $.get(1)`,
  'put /{id}': (singular, body) => `const ${singular} = await $.replace(1, ${body})`,
  'patch /{id}': (singular, body) => `const ${singular} = await $.update(1, ${body})`,
  'delete /{id}': () => 'await $.delete(1)',
}

const otherCalls: Readonly<Record<string, string>> = {
  'get /me': 'const user = await api.me()',
  'get /events': 'for await (const event of api.events.subscribe()) console.log(event.type)',
}

const accountCalls: Readonly<Record<string, SampleCall>> = {
  '/account': () => 'const user = await account.user()',
  '/account/sign-in': (_, body) => `const { user, secondFactor } = await account.signIn(${body})`,
  '/account/passkeys/get': () => 'const user = await account.signInWithPasskey()',
  '/account/sign-up': (_, body) => `const { next, message } = await account.signUp(${body})`,
  '/account/reset': () => "const message = await account.requestReset('ada@example.com')",
  '/account/sign-out': () => 'await account.signOut()',
}

/** A sample of the account client, for pages on the service's own origin; undefined for other paths. */
function accountSample({ path, input }: SampledOperation): string | undefined {
  const call = accountCalls[path]?.('', input === undefined ? '' : literal(input))
  if (call === undefined) return undefined
  return `const account = createAccountClient()\n\n${call}\n`
}

function collectionCall(model: Model, name: string, key: string, body: string): string | undefined {
  const collection = model.collections.get(name)
  if (!collection) return undefined
  const call = collectionCalls[key]
  if (key.startsWith('put ') && !hasSameBody(collection)) return undefined
  if (call) return call(collection.singular, body).replace('$', `api.${name}`)
  return relatedCall(model, name, key)
}

/** Whether the body of PUT is that of POST, which is what the client's `replace` takes. */
function hasSameBody(collection: Collection): boolean {
  return exists(collection, 'create') && ![...collection.fields.values()].some(({ immutable }) => immutable)
}

/** The sample for a list or aggregate of related items: a list of the target, filtered by the field that refers to the item. */
function relatedCall(model: Model, name: string, key: string): string | undefined {
  const [, relationName = '', aggregate] = /^get \/\{id\}\/(\w+)(\/aggregate)?$/.exec(key) ?? []
  const relation = model.collections.get(name)?.relations.get(relationName)
  if (relation?.kind !== 'many') return undefined
  const call = aggregate === undefined ? 'list' : 'aggregate'
  return `const { data } = await api.${relation.target}.${call}({ where: { ${relation.field}: 1 } })`
}

/** Actions and queries: of an item, of a collection, or of neither. */
function operationCall(model: Model, method: string, path: string, input: string): string | undefined {
  const [, owner = '', item, name = ''] = /^\/(\w+)(\/\{id\})?\/(\w+)$/.exec(path) ?? []
  const isQuery = method === 'get' && owner === 'queries' && model.logic.queries.has(name)
  const isAction = method === 'post' && (owner === 'actions' || model.collections.has(owner))
  if (!isQuery && !isAction) return undefined
  const hasId = item !== undefined || (isQuery && model.logic.queries.get(name)?.target === 'item')
  const args = [...(hasId ? ['1'] : []), ...(input === '' ? [] : [input])]
  return `const answer = await api.${owner}.${name}(${args.join(', ')})`
}

/** The code of a sample; undefined if the client has no call for the operation. `origin`: of the service. */
export function clientSample(model: Model, operation: SampledOperation, origin: string): string | undefined {
  const account = accountSample(operation)
  const call = account === undefined ? apiCall(model, operation) : undefined
  const client = `const api = createApi({ baseUrl: ${literal(origin)}, token })`
  return call === undefined ? account : `${client}\n\n${call}\n`
}

function apiCall(model: Model, { method, path, input }: SampledOperation): string | undefined {
  const below = path.slice(prefix.length)
  const other = otherCalls[`${method} ${below}`]
  if (other !== undefined) return other
  const name = below.split('/')[1] ?? ''
  const body = input === undefined ? '' : literal(input)
  const key = `${method} ${below.slice(name.length + 1)}`
  return collectionCall(model, name, key, body) ?? operationCall(model, method, below, body)
}
