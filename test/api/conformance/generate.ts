/** Random requests generated from an OpenAPI document: many valid, many almost valid, a few arbitrary. */
import type { JsonSchema, JsonValue } from '../../../src/model/fields/type.ts'
import type { Request } from '../contract/rest/harness.ts'

// biome-ignore lint/suspicious/noExplicitAny: the document is read as plain JSON.
export type Document = any

export interface Operation {
  readonly method: string
  readonly path: string
  readonly operation: Document
  readonly parameters: readonly Document[]
}

const json = 'application/json'
const methods = ['get', 'post', 'put', 'patch', 'delete']

export function resolve(document: Document, schema: Document): Document {
  if (schema?.$ref === undefined) return schema
  return schema.$ref
    .slice(2)
    .split('/')
    .reduce((node: Document, key: string) => node[key], document)
}

/** The operations of REST; `test/identity/accounts/json.test.ts` tests those of `/account`. */
export function operationsOf(document: Document): readonly Operation[] {
  const ofRest = Object.entries<Document>(document.paths).filter(([path]) => path.startsWith('/api/'))
  return ofRest.flatMap(([path, item]) =>
    methods
      .filter(method => item[method])
      .map(method => ({
        method: method.toUpperCase(),
        path,
        operation: item[method],
        parameters: [...(item.parameters ?? []), ...(item[method].parameters ?? [])].map(parameter =>
          resolve(document, parameter),
        ),
      })),
  )
}

/** The schema of a successful JSON response, resolved. */
export function answerOf(document: Document, operation: Document): Document {
  const response = resolve(document, operation?.responses[200] ?? operation?.responses[201])
  return resolve(document, response?.content?.[json].schema)
}

/** Whether the properties of the parameter’s object are sent as separate parameters. */
function isFilters({ style, explode }: Document): boolean {
  return style === 'form' && explode === true
}

/** Filters on fields that only some collections have. */
const openFilters = Object.fromEntries(
  ['author.name[contains]', 'not[id]', 'or[1][id]', 'id[gt]', 'user.role[eq]', 'not[id][in]'].map(name => [
    name,
    { type: 'string' },
  ]),
)

/** Every filter that the parameters of a list declare, such as `title` or `title[contains]`, with the schema of its value. */
export function filtersOf(
  document: Document,
  parameters: readonly Document[],
): ReadonlyMap<string, Document> {
  const filters = parameters.map(parameter => resolve(document, parameter)).filter(isFilters)
  return new Map(
    filters.flatMap(({ schema }) => Object.entries<Document>(resolve(document, schema).properties ?? {})),
  )
}

const byFormat: Record<string, readonly string[]> = {
  'date-time': [
    '2026-01-01T00:00:00Z',
    '2026-05-05T10:00:00.5+02:00',
    '2026-02-30T00:00:00Z',
    '2016-12-31T23:59:60Z',
  ],
  date: ['2026-01-01', '2024-02-29', '2026-02-29', '0000-01-01'],
  email: ['a@example.com', 'B@Example.com', 'c@', 'd@example.com'],
  uri: ['https://example.com/', 'http://example.com/a?b=c#d', 'javascript:alert(1)', 'https://'],
  uuid: ['00000000-0000-4000-8000-000000000000', 'F0000000-0000-4000-8000-00000000000A', 'no-uuid'],
}
const texts = [
  'a',
  'ABCD',
  'abc-1',
  '#00ff00',
  '+1 23',
  'Some words',
  'ünïcödé 🎉',
  "'; DROP TABLE posts; --",
  '%',
  '_',
  '\\',
  '"',
]
const wildTexts = [
  '',
  '\0',
  '\ud800',
  'x'.repeat(5000),
  '__proto__',
  '-0',
  'null',
  '1e999',
  '٣',
  'NaN',
  '\r\nX: y',
  '[',
  '🎉'.repeat(300),
]
const wildValues: readonly JsonValue[] = [
  null,
  true,
  -1,
  0,
  1.5,
  1e300,
  9007199254740992,
  '',
  'x',
  [],
  {},
  [null],
  { a: { b: [] } },
  '\0',
  '\ud800',
  'x'.repeat(5000),
]

export class Generator {
  readonly #document: Document
  readonly #random: () => number

  constructor(document: Document, random: () => number) {
    this.#document = document
    this.#random = random
  }

  chance(probability: number): boolean {
    return this.#random() < probability
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)] as T
  }

  #text(schema: JsonSchema): string {
    const format = byFormat[String(schema.format)]
    if (format) return this.pick(format)
    const text = this.pick(texts)
    const { minLength = 0, maxLength = 5000 } = schema as { minLength?: number; maxLength?: number }
    return text.padEnd(minLength, 'x').slice(0, maxLength)
  }

  #object(schema: JsonSchema): JsonValue {
    const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)
    const required = (schema.required ?? []) as readonly string[]
    const chosen = properties.filter(([name]) => this.chance(required.includes(name) ? 0.97 : 0.4))
    return Object.fromEntries(chosen.map(([name, property]) => [name, this.value(property)]))
  }

  #array(schema: JsonSchema): JsonValue {
    const items = (schema.items ?? { type: 'string' }) as JsonSchema
    return Array.from({ length: 1 + Math.floor(this.#random() * 3) }, () => this.value(items))
  }

  #number(schema: JsonSchema): number {
    const { minimum = -3, maximum = 30 } = schema as { minimum?: number; maximum?: number }
    const value = minimum + this.#random() * (Math.min(maximum, minimum + 30) - minimum)
    return schema.type === 'number' ? value : Math.round(value)
  }

  /** A value that usually fits the schema. */
  value(reference: JsonSchema): JsonValue {
    const schema: JsonSchema = resolve(this.#document, reference)
    if (this.chance(0.015)) return this.pick(wildValues)
    const choices = schema.anyOf ?? schema.oneOf ?? schema.enum
    if (Array.isArray(choices)) {
      const choice = this.pick(choices)
      return schema.enum ? choice : this.value(choice)
    }
    const type = this.pick([schema.type].flat())
    if (type === 'integer' || type === 'number') return this.#number({ ...schema, type })
    if (type === 'boolean') return this.chance(0.5)
    if (type === 'null') return null
    if (type === 'array') return this.#array(schema)
    if (type === 'object') return this.#object(schema)
    if (type === 'string') return this.#text(schema)
    return this.pick(wildValues)
  }

  /** Names of fields, or of relations for `include`; occasionally of the other kind. */
  #names(parameter: string, schema: Document): string {
    const properties = Object.entries<Document>(schema?.properties ?? { id: {} })
    const isRelation = (property: Document) => String(property.description).startsWith('With `include=')
    const relations = (parameter === 'include') !== this.chance(0.03)
    const names = properties
      .filter(([, property]) => isRelation(property) === relations)
      .map(([name]) => name)
    const count = 1 + Math.floor(this.#random() * (relations ? 1.3 : 3))
    const chosen = Array.from({ length: count }, () => this.pick(names))
    return chosen.map(name => (parameter === 'sort' && this.chance(0.4) ? `-${name}` : name)).join(',')
  }

  #schemaOf({ operation }: Operation): Document {
    const success = resolve(this.#document, operation.responses['200'] ?? operation.responses['201'])
    const schema = resolve(this.#document, success?.content?.['application/json']?.schema)
    return resolve(this.#document, schema?.properties?.data?.items ?? schema)
  }

  #parameter(parameter: Document, operation: Operation): string {
    if (this.chance(0.03)) return this.pick(wildTexts)
    if (['fields', 'sort', 'include'].includes(parameter.name))
      return this.#names(parameter.name, this.#schemaOf(operation))
    // Other values would wait for up to half a minute.
    if (parameter.name === 'wait') return this.pick(['0', '1', '31', '-1'])
    return this.#written(parameter.schema)
  }

  #written(schema: Document): string {
    const value = this.value(schema ?? {})
    return Array.isArray(value)
      ? value.join(',')
      : typeof value === 'object'
        ? JSON.stringify(value)
        : String(value)
  }

  /** One property of an object whose properties are sent as parameters. */
  #filter({ schema }: Document): readonly [string, string] {
    const { properties } = resolve(this.#document, schema)
    const [name, value] = this.pick(Object.entries<Document>(properties ?? openFilters))
    const count = name.endsWith('[in]') ? 1 + Math.floor(this.#random() * 3) : 1
    const element = properties?.[name.replace('[in]', '')] ?? value
    return [name, Array.from({ length: count }, () => this.#written(count > 1 ? element : value)).join(',')]
  }

  #query(operation: Operation): string {
    const share = 1.3 / (operation.parameters.length + 1)
    const pairs = operation.parameters
      .filter(parameter => parameter.in === 'query' && this.chance(share))
      .map(parameter =>
        isFilters(parameter)
          ? this.#filter(parameter)
          : ([parameter.name, this.#parameter(parameter, operation)] as const),
      )
    const encoded = pairs.map(
      ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value.toWellFormed())}`,
    )
    if (this.chance(0.03))
      encoded.push(
        this.pick(['x=1', '=', '%', 'a%00b=1', '__proto__=1', 'page[]=1', 'id[in]=', 'id[eq][eq]=1']),
      )
    return encoded.length === 0 ? '' : `?${encoded.join('&')}`
  }

  #path({ path }: Operation): string {
    const id = this.chance(0.06)
      ? this.pick(['0', '01', '-1', '9007199254740993', 'x', '1;', '%31', '..', ''])
      : String(1 + Math.floor(this.#random() * this.#random() * 12))
    const filled = path.replace(/\{[a-z_]+\}/g, id)
    return this.chance(0.02) ? filled + this.pick(['/', '//', '/x', '%2f', ';a']) : filled
  }

  #body(operation: Operation): Pick<Request, 'body' | 'headers'> {
    const content = operation.operation.requestBody?.content
    if (!content) return this.chance(0.05) ? { body: 'ignored' } : {}
    const types = operation.method === 'PATCH' ? [json, 'application/merge-patch+json'] : [json]
    const type = this.chance(0.03)
      ? this.pick(['text/plain', 'application/json;charset=utf-16'])
      : this.pick(types)
    const { schema } = content[json]
    const value = JSON.stringify(this.value(schema))
    const broken = this.chance(0.04)
      ? this.pick([
          value.slice(0, -1),
          `${value}x`,
          '',
          '[]',
          `{"__proto__":${value}}`,
          '{"a":1,"a":2}',
          '['.repeat(99),
        ])
      : value
    return { body: broken, headers: { 'content-type': type } }
  }

  request(operation: Operation): Request {
    const { body, headers } = this.#body(operation)
    const extra = this.chance(0.1)
      ? this.pick<Record<string, string>>([
          { 'if-match': '*' },
          { 'if-match': '"x"' },
          { 'if-none-match': 'W/"x"' },
          { 'if-none-match': 'x' },
          { accept: 'text/html' },
          { accept: 'application/json;q=0.3, */*;q=0' },
        ])
      : {}
    const method = this.chance(0.02)
      ? this.pick(['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD', 'TRACE'])
      : operation.method
    return {
      method,
      url: this.#path(operation) + this.#query(operation),
      headers: { ...headers, ...extra },
      body,
    }
  }
}
