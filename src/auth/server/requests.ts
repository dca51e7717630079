/** A request on its way to the library: in the dialect that it takes, and with nothing forged in it. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
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
import { handleOf } from './tokens.ts'

export interface Incoming {
  readonly issuer: string
  readonly signer: TokenSigner
  readonly rules: RequestRules
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
      return textOf(await authorizationRequest(pairs, rules))
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

async function authorizeUrl(query: string, { rules }: Incoming): Promise<string> {
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
  const pairs = pairsOf(body.toString())
  const twice = doubled(pairs)
  const form = await formFor(path, pairs, incoming)
  const made = withBody(req, form)
  if (path === routes.token) tokenForms.set(made, form)
  if (twice !== undefined) refused.set(made, `\`${twice.slice(0, 100)}\` must not be there twice`)
  return made
}
