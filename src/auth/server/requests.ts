/** A request on its way to the library: in the dialect that it takes, and with nothing forged in it. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Collection } from '../../model/model.ts'
import { markedRequest } from './codes.ts'
import { routes } from './configuration.ts'
import {
  authorizationRequest,
  deviceRequest,
  doubled,
  type Pairs,
  pairsOf,
  type RequestRules,
  textOf,
  tokenRequest,
} from './dialect.ts'
import type { TokenSigner } from './jwt.ts'
import { checkedRegistration } from './registration.ts'
import { secretHash } from './secret.ts'
import { handleOf } from './tokens.ts'

export interface Incoming {
  readonly issuer: string
  readonly signer: TokenSigner
  readonly rules: RequestRules
  /** The collection whose rules a registration must fulfil. */
  readonly oauthApps: Collection
  /** What the service is called, and no app may be. */
  readonly serviceName: string
}

const FORM = 'application/x-www-form-urlencoded'

/** Every token is for this server: by its own address, or by that of one of its faces. */
export function resourcesOf(issuer: string): ReadonlySet<string> {
  return new Set([issuer, `${issuer}/api/v1`, `${issuer}/graphql`])
}

function isForm(req: IncomingMessage): boolean {
  const type = req.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  return type === FORM
}

/** The body of a POST, as the library will read it. */
async function formFor(path: string, pairs: Pairs, incoming: Incoming): Promise<string> {
  const { rules } = incoming
  switch (path) {
    case routes.token:
      return textOf(tokenRequest(pairs, rules))
    case routes.pushed_authorization_request:
      return textOf(await markedRequest(pairs, own => authorizationRequest(own, rules)))
    case routes.device_authorization:
      return textOf(await deviceRequest(pairs, rules))
    case routes.introspection:
    case routes.revocation:
      return textOf(
        pairs.map(([name, value]) => [name, name === 'token' ? handleOf(value, incoming) : value]),
      )
    default:
      return textOf(pairs)
  }
}

/** The same request with another body: no stream, but what the library and Koa look at. */
function withBody(req: IncomingMessage, text: string | Buffer): IncomingMessage {
  const body = Buffer.from(text)
  const headers: IncomingHttpHeaders = { ...req.headers, 'content-length': String(body.length) }
  if (headers['transfer-encoding'] !== undefined) delete headers['transfer-encoding']
  const { method, url, socket, httpVersion, httpVersionMajor, httpVersionMinor } = req
  const made = {
    ...{ headers, method, url, socket, httpVersion, httpVersionMajor, httpVersionMinor },
    complete: true,
    readable: true,
    readableEncoding: null,
    iterator: () => chunksOf(body),
  }
  return made as unknown as IncomingMessage
}

async function* chunksOf(body: Buffer): AsyncGenerator<Buffer> {
  if (body.length > 0) yield body
}

export interface Refusal {
  readonly error: string
  readonly description: string
  /** Whether it is told to nobody whose credential the library has not accepted. */
  readonly afterwards: boolean
}

const refused = new WeakMap<IncomingMessage, Refusal>()

/** Why a request is refused, whatever the library would say; undefined where it is not. */
export function refusalOf(req: IncomingMessage): Refusal | undefined {
  return refused.get(req)
}

const tokenForms = new WeakMap<IncomingMessage, string>()

/** The form of a request to the token endpoint. */
export function tokenForm(req: IncomingMessage): string | undefined {
  return tokenForms.get(req)
}

async function authorizeUrl(query: string, { rules }: Incoming): Promise<string> {
  const made = await markedRequest(pairsOf(query), own => authorizationRequest(own, rules))
  return `${routes.authorization}?${textOf(made)}`
}

function jsonOf(req: IncomingMessage, body: Buffer): unknown {
  const type = req.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  if (type !== 'application/json') return undefined
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

/** RFC 7592, 2.2: an update names its client, and may repeat the secret; what is stored of that is a hash. */
function identityOf(req: IncomingMessage, given: unknown): object {
  if (req.method !== 'PUT' || typeof given !== 'object' || given === null) return {}
  const { client_id, client_secret } = given as Readonly<Record<string, unknown>>
  return {
    client_id,
    ...(client_secret === undefined ? undefined : { client_secret: secretHash(String(client_secret)) }),
  }
}

/** A registration with what may be registered. One that may not be is given on as nothing, for its credential only. */
function withMetadata(
  req: IncomingMessage,
  body: Buffer,
  { oauthApps: apps, serviceName }: Incoming,
): IncomingMessage {
  const given = jsonOf(req, body)
  const checked = checkedRegistration({ apps, serviceName }, given)
  req.headers['content-type'] = 'application/json'
  if (checked.kind === 'fine') {
    return withBody(req, JSON.stringify({ ...checked.metadata, ...identityOf(req, given) }))
  }
  const made = withBody(req, JSON.stringify({ redirect_uris: 0, ...identityOf(req, given) }))
  refused.set(made, { ...checked.fault, afterwards: true })
  return made
}

/** `body`: what a POST or PUT carried; it was read already. */
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
  if (body === undefined) return req
  if (path === routes.registration || path.startsWith(`${routes.registration}/`)) {
    return withMetadata(req, body, incoming)
  }
  if (!isForm(req)) return withBody(req, body)
  const pairs = pairsOf(body.toString())
  const twice = doubled(pairs)
  const form = await formFor(path, pairs, incoming)
  const made = withBody(req, form)
  if (path === routes.token) tokenForms.set(made, form)
  if (twice !== undefined) {
    const description = `\`${twice.slice(0, 100)}\` must not be there twice`
    refused.set(made, { error: 'invalid_request', description, afterwards: false })
  }
  return made
}
