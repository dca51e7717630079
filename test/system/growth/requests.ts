/** Requests with external input to a running service. */
import { Agent, request as httpRequest } from 'node:http'
import { bodyBound, formBound } from './inputs.ts'
import type { GrowthInput } from './measure.ts'
import { differing, repeated, word } from './texts.ts'

export interface Target {
  readonly url: string
  /** The administrator's key. */
  readonly key: string
  /** For the forms of the account pages: the token, and the cookie that it belongs to. */
  readonly csrf: string
  readonly cookie: string
  /** An app's id and secret. */
  readonly clientId: string
  readonly clientSecret: string
}

interface Request {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

interface RequestInput {
  readonly name: string
  readonly bound: number
  readonly request: (size: number, target: Target) => Request
}

const jsonType = { 'content-type': 'application/json' }
const formType = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' }
/** The part of the largest request line and headers that one of them may use. */
const maxHeaderBytes = 14_336

let count = 0

/** Requests differ, so that no response is cached; each comes from another address. */
function next(): number {
  count++
  return count
}

function list(name: string, query: (size: number) => string): RequestInput {
  return {
    name: `REST, ${name}`,
    bound: maxHeaderBytes,
    request: size => ({ path: `/api/v1/things?per_page=1&id[ne]=${next()}&${query(size)}` }),
  }
}

function header(name: string, value: (size: number) => string): RequestInput {
  return {
    name: `header ${name}`,
    bound: maxHeaderBytes,
    request: size => ({ path: `/api/v1/things?id[ne]=${next()}`, headers: { [name]: value(size) } }),
  }
}

function create(name: string, body: (size: number) => unknown, bound = bodyBound): RequestInput {
  return {
    name: `REST body, ${name}`,
    bound,
    request: size => ({
      method: 'POST',
      path: '/api/v1/things',
      headers: jsonType,
      body: JSON.stringify(body(size - 200)),
    }),
  }
}

function graphql(name: string, bound: number, request: (size: number) => unknown): RequestInput {
  return {
    name: `GraphQL, ${name}`,
    bound,
    request: size => ({
      method: 'POST',
      path: '/graphql',
      headers: jsonType,
      body: JSON.stringify(request(size)),
    }),
  }
}

function account(path: string, field: string, value: (size: number) => string): RequestInput {
  return {
    name: `${path}, ${field}`,
    bound: formBound,
    request: (size, { csrf, cookie }) => {
      const form = { csrf, email: `a${next()}@example.com`, password: 'a password', name: 'Ada' }
      // Each mark takes six characters.
      const fields = { ...form, [field]: value(Math.floor((size - 600) / 6)) }
      const body = new URLSearchParams(fields).toString()
      return { method: 'POST', path, headers: { ...formType, cookie }, body }
    },
  }
}

function oauth(path: string, field: string, value: (size: number) => string, grant = 'authorization_code') {
  return {
    name: `${path}, ${field}`,
    bound: formBound,
    request: (size: number, { clientId, clientSecret }: Target): Request => {
      const client = { client_id: clientId, client_secret: clientSecret, grant_type: grant }
      const body = new URLSearchParams({ ...client, [field]: value(Math.floor((size - 600) / 3)) }).toString()
      return { method: 'POST', path, headers: formType, body }
    },
  }
}

function authorize(field: string, value: (size: number) => string): RequestInput {
  return {
    name: `/oauth/authorize, ${field}`,
    bound: maxHeaderBytes,
    request: (size, { clientId }) => {
      const parameters = {
        client_id: clientId,
        response_type: 'code',
        scope: 'read:thing',
        state: `${next()}`,
      }
      const fields = { ...parameters, redirect_uri: 'https://app.example/cb', [field]: value(size / 3) }
      return { path: `/oauth/authorize?${new URLSearchParams(fields)}` }
    },
  }
}

const marks = repeated('\u0301\u0323', 'a')
const words = differing(word, ' ')
const letters = repeated('a')

const rest: readonly RequestInput[] = [
  list('words of a search', size => `q=${differing(word, '+')(size)}`),
  list('a word again', size => `q=${'a+'.repeat(size / 2)}a`),
  list('marks of a search', size => `q=a${'%CC%81%CC%A3'.repeat(size / 12)}`),
  list('a contained text', size => `note[contains]=${letters(size)}`),
  list('values of in', size => `id[in]=${'1,'.repeat(size / 2)}1`),
  list('sort keys', size => `sort=${'title,'.repeat(size / 6)}id`),
  list('fields', size => `fields=${differing(word, ',')(size)}`),
  list('includes', size => `include=${'owner.things.'.repeat(size / 13)}owner`),
  list('a name', size => `${letters(size)}=1`),
  list('parameters', size => differing(i => `${word(i)}=1`, '&')(size)),
  list('a cursor', size => `cursor=${letters(size)}`),
  list('escapes', size => `q=${'%41'.repeat(size / 3)}`),
  list('ampersands', size => '&'.repeat(size)),
]

const headers: readonly RequestInput[] = [
  header('accept', repeated('a/b;q=1,')),
  header('if-none-match', repeated('"a" , ')),
  header('if-none-match', repeated(' ,', '"a"', 'x')),
  header('authorization', repeated('a', 'Bearer ')),
  header('authorization', repeated('=', 'Bearer a')),
  header('x-api-key', repeated('a,')),
  header('dpop', repeated('a.')),
  header('cookie', repeated('a=b; ')),
  header('prefer', repeated('a=b, ')),
  header('forwarded', repeated('for=1;by=2,')),
  header('x-forwarded-for', repeated('10.0.0.1, ')),
  header('link', repeated('<a>; rel=b, ')),
  header('origin', repeated('a.', 'http://')),
  header('x-request-id', repeated('a')),
  header('traceparent', repeated('00-')),
  header('accept-encoding', repeated('gzip;q=1,')),
  {
    name: 'header content-type',
    bound: maxHeaderBytes,
    request: size => ({
      method: 'POST',
      path: '/api/v1/things',
      headers: { 'content-type': repeated(' ', 'application/json', 'x')(size) },
      body: '{}',
    }),
  },
]

const bodies: readonly RequestInput[] = [
  create('words of a stored text', size => ({ body: words(size) })),
  create('marks of a stored text', size => ({ body: marks(size / 2) })),
  create('letters that decompose into many', size => ({ body: repeated('\uFDFA')(size / 3) })),
  create('a long word', size => ({ body: letters(size) })),
  create('a text that is not searched', size => ({ note: letters(size) })),
  create('unique items', size => ({ different: Array.from({ length: size / 10 }, (_, index) => [index]) })),
  create('addresses', size => ({ links: [repeated(':', 'http://', ' ')(size)] })),
  create('an address', size => ({ link: `http://a${'%CC%81%CC%A3'.repeat(size / 12)}/` })),
  create('members of a document', size => ({
    document: Object.fromEntries(Array.from({ length: size / 18 }, (_, index) => [word(index), index])),
  })),
  create('unknown members', size =>
    Object.fromEntries(Array.from({ length: size / 18 }, (_, index) => [word(index), index])),
  ),
  create('lists in lists', size => ({
    document: JSON.parse(`${'['.repeat(60)}${']'.repeat(60)}`),
    note: letters(size),
  })),
]

const document = 'query($s: String) { things(search: $s) { id } }'

const graphqls: readonly RequestInput[] = [
  graphql('words of a search', bodyBound, size => ({ query: document, variables: { s: words(size - 200) } })),
  graphql('marks of a search', bodyBound, size => ({ query: document, variables: { s: marks(size / 3) } })),
  graphql('undeclared variables', bodyBound, size => ({
    query: '{ things { id } }',
    variables: { x: letters(size - 200) },
  })),
  graphql('fields', 1920, size => ({ query: `{ things { ${'id '.repeat(size)} } } #${next()}` })),
  graphql('arguments', 1920, size => ({
    query: `{ things(${'limit: 1 '.repeat(size / 3)}) { id } } #${next()}`,
  })),
  graphql('a long document', 90_000, size => ({
    query: `{ things { id } } ${'#\n'.repeat(size / 2)}${next()}`,
  })),
]

const accounts: readonly RequestInput[] = [
  account('/account/sign-in', 'password', marks),
  account('/account/sign-in', 'email', marks),
  account('/account/sign-in', 'next', repeated('/account')),
  account('/account/sign-in', 'passkey', repeated('[')),
  account('/account/sign-in', 'second_factor', letters),
  account('/account/sign-up', 'password', marks),
  account('/account/sign-up', 'name', marks),
  account('/account/sign-up', 'email', repeated('a.', '', '@a')),
  account('/account/reset', 'email', marks),
]

const oauths: readonly RequestInput[] = [
  ...[
    'scope',
    'redirect_uri',
    'state',
    'claims',
    'resource',
    'prompt',
    'login_hint',
    'ui_locales',
    'request_uri',
  ].map(field => authorize(field, repeated('a '))),
  authorize('redirect_uri, marks', size => `https://a${marks(size / 4)}/`),
  ...['scope', 'code', 'code_verifier', 'redirect_uri', 'resource', 'client_assertion', 'grant_type'].map(
    field => oauth('/oauth/token', field, repeated('a ')),
  ),
  oauth('/oauth/token', 'refresh_token', repeated('a.'), 'refresh_token'),
  oauth('/oauth/introspect', 'token', repeated('a.')),
  oauth('/oauth/revoke', 'token', repeated('a.')),
  oauth('/oauth/par', 'scope', repeated('a,')),
  {
    name: 'the Basic credentials of an app',
    bound: maxHeaderBytes,
    request: size => ({
      method: 'POST',
      path: '/oauth/token',
      headers: {
        ...formType,
        authorization: `Basic ${Buffer.from(`a:${'%41'.repeat(size / 5)}`).toString('base64')}`,
      },
      body: 'grant_type=client_credentials',
    }),
  },
]

/** Larger than the header limit of every input here. */
export const requestInputs: readonly RequestInput[] = [
  ...rest,
  ...headers,
  ...bodies,
  ...graphqls,
  ...accounts,
  ...oauths,
]

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

/** Sends the request and waits for the end of the response. */
export function send({ url }: Target, { method = 'GET', path, headers, body }: Request): Promise<number> {
  const forwarded = `10.${(count >> 16) & 255}.${(count >> 8) & 255}.${count & 255}`
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      url + path,
      { method, agent, headers: { 'x-forwarded-for': forwarded, ...headers } },
      response => {
        response.resume()
        response.on('end', () => resolve(response.statusCode ?? 0))
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

/** The requests as measured calls. */
export function callsOf(target: Target): readonly GrowthInput[] {
  return requestInputs.map(({ name, bound, request }) => ({
    name,
    bound,
    call: size => {
      const requestOfSize = request(size, target)
      return () => send(target, requestOfSize)
    },
  }))
}
