/** Functions that process external input, called in this process. */

import formats from 'ajv-formats/dist/formats.js'
import { createEngine } from '../../../src/api/graphql/execute/create-engine.ts'
import { readAccept as graphqlAccept } from '../../../src/api/graphql/transports/accept.ts'
import { readAccept } from '../../../src/api/rest/accept.ts'
import { maxMembers, readBody } from '../../../src/api/rest/body.ts'
import { parseQuery, unknownParameter } from '../../../src/api/rest/query/query-string.ts'
import { matchesNone, readIfMatch } from '../../../src/base/conditional.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { normalize } from '../../../src/base/unicode.ts'
import { cursorsOf } from '../../../src/engine/plan/cursor.ts'
import { orderById } from '../../../src/engine/plan/order.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import {
  containedFault,
  indexedTerms,
  maxIndexedLength,
  searchFault,
} from '../../../src/engine/plan/text-search.ts'
import { arrayOf } from '../../../src/engine/store/sql/postgres.ts'
import { mergePatch } from '../../../src/engine/store/write/documents.ts'
import { passwordFault } from '../../../src/identity/accounts/sign-in/password-rules.ts'
import { findCredential } from '../../../src/identity/credentials.ts'
import { isKey } from '../../../src/identity/keys/key.ts'
import { isPasswordTooLong } from '../../../src/identity/password.ts'
import { formText, parseForm } from '../../../src/identity/server/requests/form.ts'
import { repeatedParameter } from '../../../src/identity/server/requests/parameters.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import { schemaFaults } from '../../../src/model/json-schema/faults.ts'
import { formats as ownFormats } from '../../../src/model/json-schema/formats.ts'
import { publicPictureUrl, redirectUriPattern } from '../../../src/model/json-schema/patterns.ts'
import { suggest } from '../../../src/model/suggest.ts'
import { bodyValidator } from '../../../src/model/validate.ts'
import { addressReader } from '../../../src/server/http/client-address.ts'
import { requestId } from '../../../src/server/http/request-id.ts'
import { readForm } from '../../../src/web/account/form-body.ts'
import type { GrowthInput } from './measure.ts'
import declaration from './model.ts'
import { hostile, type TextOfLength, unicode, word } from './texts.ts'

/** The default limits of the settings, in bytes. */
export const headerBound = 16_384
export const formBound = 65_536
export const bodyBound = 1_048_576

const model = checkModel(declaration)
const things = model.collections.get('things')
if (!things) throw new Error('the model has no things')

/** A refusal is a result, too. */
function outcome(call: () => unknown): unknown {
  try {
    return call()
  } catch (error) {
    if (error instanceof ApiError || error instanceof SyntaxError || error instanceof RangeError) return error
    throw error
  }
}

/** One input for each of the texts. */
function rows(
  name: string,
  texts: ReadonlyMap<string, TextOfLength>,
  bound: number,
  call: (text: string) => unknown,
): readonly GrowthInput[] {
  return [...texts].map(([kind, make]) => ({
    name: `${name}: ${kind}`,
    bound,
    call: size => {
      const text = make(size)
      return () => outcome(() => call(text))
    },
  }))
}

let salt = 0

const headers: readonly GrowthInput[] = [
  // Each text is different, because parsed ones are cached.
  ...rows('Accept, REST', hostile, headerBound, text => readAccept(`${text}${salt++}`)),
  ...rows('Accept, GraphQL', hostile, headerBound, text => graphqlAccept(`${text}${salt++}`)),
  ...rows('If-None-Match', hostile, headerBound, text => matchesNone(`"a"${text}`, '"b"')),
  ...rows('If-Match', hostile, headerBound, text => readIfMatch(`"a"${text}`)),
  ...rows('Authorization', hostile, headerBound, text =>
    findCredential({ headers: { authorization: `Bearer ${text}` }, query: '' }),
  ),
  ...rows('X-API-Key', hostile, headerBound, text =>
    findCredential({ headers: { 'x-api-key': text }, query: '' }),
  ),
  ...rows('API key', hostile, headerBound, text => isKey(`pk_${text}`)),
  ...rows('X-Request-Id', hostile, headerBound, requestId),
  ...rows('Content-Type', hostile, headerBound, text =>
    readBody(callWith('{}', `application/json${text}`), ['application/json']),
  ),
  ...rows('X-Forwarded-For', hostile, headerBound, text => addressReader(['10.0.0.0/8'])('10.0.0.1', text)),
]

function callWith(body: string, contentType = 'application/json') {
  const call = { method: 'POST', url: '/', path: '/', query: '', address: '', requestId: '' }
  return { ...call, headers: { 'content-type': contentType }, body: Buffer.from(body) }
}

const queries: readonly GrowthInput[] = [
  ...rows('query', hostile, headerBound, parseQuery),
  ...rows(
    'query, parameters',
    new Map([['many', length => `${word(1)}=1&`.repeat(length / 10)]]),
    headerBound,
    parseQuery,
  ),
  ...rows(
    'query, api_key',
    new Map([['many', length => 'api_key=a&'.repeat(length / 10)]]),
    headerBound,
    query => findCredential({ headers: {}, query }),
  ),
  ...rows('unknown parameter', hostile, headerBound, text => unknownParameter(text, things.fields.keys())),
  ...rows('cursor', hostile, 6000, text => cursorsOf(things, orderById).decode(text)),
  ...rows('cursor, base64', hostile, 4500, text =>
    cursorsOf(things, orderById).decode(Buffer.from(text).toString('base64url')),
  ),
  ...rows('did you mean', hostile, headerBound, text => suggest(text, [text.slice(1), 'title'])),
]

const forms: readonly GrowthInput[] = [
  ...rows('form', hostile, formBound, text =>
    readForm({ headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: Buffer.from(text) }),
  ),
  ...rows('OAuth parameters', hostile, formBound, text =>
    repeatedParameter(parseForm(formText(parseForm(text)))),
  ),
  ...rows('password', unicode, formBound, text => passwordFault(text, 'a@example.com')),
  ...rows('password, length', unicode, formBound, isPasswordTooLong),
]

const fieldNames = ['title', 'body', 'code', 'at', 'mail', 'link'] as const

const bodies: readonly GrowthInput[] = [
  // Longer texts are refused or truncated earlier.
  ...rows('normalisation', unicode, maxIndexedLength, text => normalize(text, 'NFC')),
  ...rows('search', unicode, bodyBound, searchFault),
  ...rows('contained text', unicode, bodyBound, containedFault),
  ...rows('stored text', unicode, maxIndexedLength, indexedTerms),
  ...rows('JSON', hostile, bodyBound, text => readBody(callWith(text), ['application/json'])),
  // A character may take six as JSON.
  ...rows('JSON text', unicode, bodyBound / 6, text =>
    readBody(callWith(JSON.stringify([text])), ['application/json']),
  ),
  ...fieldNames.flatMap(name =>
    rows(`field ${name}`, unicode, bodyBound, text => bodyValidator(things).create({ [name]: text })),
  ),
  ...rows('array for PostgreSQL', unicode, bodyBound, text => arrayOf([text, 'a'])),
]

const stringFormats = new Set([...ownFormats.keys(), ...Object.keys(formats.fullFormats)])

const patterns: readonly GrowthInput[] = [
  ...[...stringFormats].flatMap(format =>
    rows(`format ${format}`, hostile, bodyBound, text =>
      schemaFaults({ type: 'string', format }, text, true),
    ),
  ),
  ...[redirectUriPattern, publicPictureUrl].flatMap((pattern, at) =>
    rows(`pattern ${at}`, hostile, 2048, text => new RegExp(pattern, 'u').test(`https://a.example${text}`)),
  ),
]

/** A body of this size with as many members as possible. */
const membersBound = 12 * maxMembers

interface ValueInput {
  readonly bound: number
  readonly make: (size: number) => JsonValue
}

const list = (make: (size: number) => JsonValue): ValueInput => ({ bound: bodyBound, make })
const object = (make: (size: number) => JsonValue): ValueInput => ({ bound: membersBound, make })

/** Values of about this size as JSON. */
const values = new Map<string, ValueInput>([
  ['numbers', list(size => Array.from({ length: size / 6 }, (_, index) => index))],
  ['texts', list(size => Array.from({ length: size / 10 }, (_, index) => word(index)))],
  [
    'texts and numbers',
    list(size => Array.from({ length: size / 8 }, (_, index) => (index % 2 ? index : word(index)))),
  ],
  ['arrays', list(size => Array.from({ length: size / 8 }, (_, index) => [index]))],
  ['objects', object(size => Array.from({ length: size / 12 }, (_, index) => ({ a: index })))],
  [
    'objects with other names',
    object(size => Array.from({ length: size / 14 }, (_, index) => ({ [word(index)]: 1 }))),
  ],
  [
    'members',
    object(size => Object.fromEntries(Array.from({ length: size / 12 }, (_, index) => [word(index), index]))),
  ],
  [
    'members with integer names',
    object(size => Object.fromEntries(Array.from({ length: size / 12 }, (_, index) => [index * 7, index]))),
  ],
])

function valueRows(name: string, call: (value: JsonValue) => unknown): readonly GrowthInput[] {
  return [...values].map(([kind, { bound, make }]) => ({
    name: `${name}: ${kind}`,
    bound,
    call: size => {
      const value = make(size)
      return () => outcome(() => call(value))
    },
  }))
}

const documents: readonly GrowthInput[] = [
  ...valueRows('document', value => bodyValidator(things).create({ document: value })),
  ...valueRows('unique items', value => bodyValidator(things).create({ different: value })),
  ...valueRows('links', value => bodyValidator(things).create({ links: value })),
  ...valueRows('body', value => bodyValidator(things).create(value)),
  ...valueRows('merge patch', value => mergePatch(value, value)),
  ...[...values].map(([kind, { bound, make }]) => ({
    name: `JSON: ${kind}`,
    bound,
    call: (size: number) => {
      const call = callWith(JSON.stringify(make(size)))
      return () => outcome(() => readBody(call, ['application/json']))
    },
  })),
  {
    name: 'JSON: a duplicate member name at the end',
    bound: membersBound,
    call: size => {
      const members = Array.from({ length: size / 12 }, (_, index) => `"${word(index)}":1`)
      const call = callWith(`{${members.join()},"a":1,"a":1}`)
      return () => outcome(() => readBody(call, ['application/json']))
    },
  },
]

const run = new Proxy({} as Run, {
  get(_, name) {
    throw new Error(`run.${String(name)} was reached`)
  },
})
const engine = createEngine({ model, run, hooks: new Map() })

/** Parts of a document, about one for each token. */
const parts: ReadonlyMap<string, (count: number) => string> = new Map([
  ['fields', count => `{ things { ${'id '.repeat(count)} } }`],
  ['other fields', count => `{ things { ${many(count, i => `x${i}`)} } }`],
  ['aliases', count => `{ ${many(count / 6, i => `a${i}: things { id }`)} }`],
  ['an argument again', count => `{ things(${'limit: 1 '.repeat(count / 3)}) { id } }`],
  ['other arguments', count => `{ things(${many(count / 3, i => `x${i}: 1`)}) { id } }`],
  ['variables', count => `query(${many(count / 4, i => `$v${i}: Int`)}) { things { id } }`],
  ['a variable again', count => `query(${'$v: Int '.repeat(count / 4)}) { things(limit: $v) { id } }`],
  ['conditions', count => `{ things(filter: { and: [${'{ id: { eq: 1 } } '.repeat(count / 9)}] }) { id } }`],
  ['a condition again', count => `{ things(filter: { ${'id: { eq: 1 } '.repeat(count / 7)} }) { id } }`],
  ['values', count => `{ things(filter: { id: { in: [${'1 '.repeat(count)}] } }) { id } }`],
  ['sort keys', count => `{ things(orderBy: [${'ID_ASC '.repeat(count)}]) { id } }`],
  ['other sort keys', count => `{ things(orderBy: [${many(count, i => `ID_AS${i}`)}]) { id } }`],
  [
    'fragments',
    count => `{ things { ...F0 } } ${many(count / 9, i => `fragment F${i} on Thing { id ...F${i + 1} }`)}`,
  ],
  ['a fragment again', count => `{ things { ${'...F '.repeat(count / 2)} } } fragment F on Thing { id }`],
  ['unknown fragments', count => `{ things { ${many(count / 2, i => `...F${i}`)} } }`],
  ['parts by type', count => `{ node(nodeId: "a") { ${'... on Thing { id } '.repeat(count / 7)} } }`],
  ['directives', count => `{ things { id ${'@skip(if: false) '.repeat(count / 6)} } }`],
  ['operations', count => many(count / 7, i => `query Q${i} { things { id } }`)],
  ['operations with the same name', count => 'query Q { things { id } } '.repeat(count / 7)],
  ['lists in lists', count => `{ things(filter: ${'['.repeat(count / 2)}${']'.repeat(count / 2)}) { id } }`],
  [
    'an object',
    count => `mutation { createThing(document: { ${many(count / 3, i => `x${i}: 1`)} }) { id } }`,
  ],
])

function many(count: number, part: (index: number) => string): string {
  return Array.from({ length: Math.floor(count) }, (_, index) => part(index)).join(' ')
}

/** Long texts in a document with few tokens. */
const longTexts: ReadonlyMap<string, (length: number) => string> = new Map([
  ['a name', length => `{ things { ${'a'.repeat(length)} } }`],
  ['a text', length => `{ things(search: "${'a'.repeat(length)}") { id } }`],
  ['escapes', length => `{ things(search: "${'\\n'.repeat(length / 2)}") { id } }`],
  ['a block', length => `{ things(search: """${'\n '.repeat(length / 2)}""") { id } }`],
  ['quotes of a block', length => `{ things(search: """${'\\"""'.repeat(length / 4)}""") { id } }`],
  ['a number', length => `{ things(limit: ${'1'.repeat(length)}) { id } }`],
  ['comments', length => `{ things { id } } ${'#\n'.repeat(length / 2)}`],
  ['lines before faults', length => `{ ${'\n'.repeat(length)} things(${'limit: 1 '.repeat(600)}) { id } }`],
])

function documentRow(kind: string, bound: number, make: (size: number) => string): GrowthInput {
  return {
    name: `GraphQL document: ${kind}`,
    bound,
    call: size => {
      const source = `${make(size)}#${salt++}`
      return () => {
        const prepared = engine.prepare(source, undefined)
        return prepared.outcome === 'prepared' ? engine.bind(prepared, {}) : prepared
      }
    },
  }
}

const variables: ReadonlyMap<string, readonly [type: string, use: string, make: (count: number) => unknown]> =
  new Map([
    [
      'conditions',
      ['ThingFilter', 'things(filter: $v) { id }', (count: number) => ({ and: objects(count) })],
    ],
    ['one in another', ['ThingFilter', 'things(filter: $v) { id }', (count: number) => nested(count)]],
    [
      'sort keys',
      ['[ThingOrderBy!]', 'things(orderBy: $v) { id }', (count: number) => new Array(count).fill('ID_ASC')],
    ],
    ['words', ['String', 'things(search: $v) { id }', (count: number) => many(count, word)]],
    ['marks', ['String', 'things(search: $v) { id }', (count: number) => `a${'\u0301\u0323'.repeat(count)}`]],
    [
      'a contained text',
      [
        'ThingFilter',
        'things(filter: $v) { id }',
        (count: number) => ({ note: { contains: 'a'.repeat(count) } }),
      ],
    ],
    [
      'a cursor',
      [
        'String',
        'thingsConnection(first: 1, after: $v) { totalCount }',
        (count: number) => 'a'.repeat(count),
      ],
    ],
    ['an id', ['ID!', 'node(nodeId: $v) { nodeId }', (count: number) => `Thing:${'1'.repeat(count)}`]],
    [
      'unknown members',
      [
        'ThingFilter',
        'things(filter: $v) { id }',
        (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [word(index), 1])),
      ],
    ],
  ])

function objects(count: number) {
  return Array.from({ length: count }, () => ({ id: { eq: '1' } }))
}

function nested(count: number): object {
  let value: object = { id: { eq: '1' } }
  for (let level = 0; level < count; level++) value = { and: [value] }
  return value
}

const graphql: readonly GrowthInput[] = [
  ...[...parts].map(([kind, make]) => documentRow(kind, 1920, make)),
  ...[...longTexts].map(([kind, make]) => documentRow(kind, 90_000, make)),
  ...[...variables].map(([kind, [type, use, make]]): GrowthInput => {
    const prepared = engine.prepare(`query($v: ${type}) { ${use} }`, undefined)
    if (prepared.outcome !== 'prepared') throw new Error(prepared.text)
    return {
      name: `GraphQL variable: ${kind}`,
      bound: 65_536,
      call: size => {
        const v = make(size)
        return () => outcome(() => engine.bind(prepared, { v }))
      },
    }
  }),
]

export const inputs: readonly GrowthInput[] = [
  ...headers,
  ...queries,
  ...forms,
  ...bodies,
  ...patterns,
  ...documents,
  ...graphql,
]
