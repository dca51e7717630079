/** A request on its way to the library: in the dialect that it takes, and with nothing forged in it. */
import type { IncomingMessage } from 'node:http'
import { routes } from './configuration.ts'
import {
  authorizationRequest,
  deviceRequest,
  doubled,
  pairsOf,
  type RequestRules,
  textOf,
  tokenRequest,
} from './dialect.ts'
import type { TokenSigner } from './jwt.ts'
import { handleOf } from './tokens.ts'

export interface Incoming {
  readonly issuer: string
  readonly signer: TokenSigner
  readonly defaultScopes: (clientId: string) => Promise<readonly string[]>
  readonly separator: ',' | ' '
}

const FORM = 'application/x-www-form-urlencoded'

/** Every token is for this server: by its own address, or by that of one of its faces. */
function resourcesOf(issuer: string): ReadonlySet<string> {
  return new Set([issuer, `${issuer}/api/v1`, `${issuer}/graphql`])
}

function isForm(req: IncomingMessage): boolean {
  const type = req.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  return type === FORM
}

/** The body of a POST, as the library will read it. */
async function formFor(path: string, body: Buffer, incoming: Incoming): Promise<string> {
  const pairs = pairsOf(body.toString())
  const rules = { resources: resourcesOf(incoming.issuer), defaultScopes: incoming.defaultScopes }
  switch (path) {
    case routes.token:
      return textOf(tokenRequest(pairs, rules))
    case routes.pushed_authorization_request:
      return textOf(await authorizationRequest(pairs, rules))
    case routes.device_authorization:
      return textOf(await deviceRequest(pairs, rules))
    case routes.introspection:
    case routes.revocation:
      return textOf(
        pairs.map(([name, value]) => [name, name === 'token' ? handleOf(value, incoming) : value]),
      )
    default:
      return body.toString()
  }
}

/** The same request with another body, of which the library sees no more than it reads. */
function withBody(req: IncomingMessage, text: string | Buffer): IncomingMessage {
  const body = Buffer.from(text)
  const headers = { ...req.headers, 'content-length': String(body.length) }
  delete headers['transfer-encoding']
  const own = {
    headers,
    url: req.url,
    readable: true,
    readableEncoding: null,
    iterator: async function* chunks() {
      if (body.length > 0) yield body
    },
  }
  const fields = Object.entries(own).map(([name, value]) => [name, { value, writable: true }])
  return Object.create(req, Object.fromEntries(fields))
}

const refused = new WeakMap<IncomingMessage, string>()

/** Why a request is not to be given to the library; undefined where it is. */
export function refusalOf(req: IncomingMessage): string | undefined {
  return refused.get(req)
}

const tokenForms = new WeakMap<IncomingMessage, string>()

/** The form of a request to the token endpoint. */
export function tokenForm(req: IncomingMessage): string | undefined {
  return tokenForms.get(req)
}

async function authorizeUrl(query: string, incoming: Incoming): Promise<string> {
  const rules: RequestRules = {
    resources: resourcesOf(incoming.issuer),
    defaultScopes: incoming.defaultScopes,
  }
  return `${routes.authorization}?${textOf(await authorizationRequest(pairsOf(query), rules))}`
}

/** `body`: what a POST carried; it was read already. */
export async function prepareRequest(
  req: IncomingMessage,
  body: Buffer | undefined,
  incoming: Incoming,
): Promise<IncomingMessage> {
  const [path = '', query = ''] = (req.url ?? '').split(/\?(.*)/s)
  if (path === routes.authorization) req.url = await authorizeUrl(query, incoming)
  if (path === routes.device_authorization && (req.method === 'GET' || req.method === 'HEAD')) {
    req.url = query === '' ? routes.code_verification : `${routes.code_verification}?${query}`
  }
  if (req.method !== 'POST' || body === undefined) return req
  if (!isForm(req)) return withBody(req, body)
  const twice = doubled(pairsOf(body.toString()))
  const form = await formFor(path, body, incoming)
  const made = withBody(req, form)
  if (path === routes.token) tokenForms.set(made, form)
  if (twice !== undefined) refused.set(made, `\`${twice.slice(0, 100)}\` must not be there twice`)
  return made
}
