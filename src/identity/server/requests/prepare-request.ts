/** The request that oidc-provider gets: with normalized parameters, and without those that clients must not set. */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { parseJson } from '../../../base/json.ts'
import type { Collection } from '../../../model/model.ts'
import { checkedRegistration } from '../clients/registration.ts'
import { routes } from '../provider/configuration.ts'
import type { OauthRefusal } from '../provider/request-state.ts'
import { secretHash } from '../secret.ts'
import { markOmittedRedirectUri } from '../tokens/authorization-codes.ts'
import type { TokenSigner } from '../tokens/jwt.ts'
import { handleOf } from '../tokens/jwt-format.ts'
import { basicClientId, formText, mediaTypeOf, type Parameters, parseForm, type RequestBody } from './form.ts'
import {
  authorizationRequest,
  deviceRequest,
  type RequestRules,
  repeatedParameter,
  tokenRequest,
} from './parameters.ts'

export interface PrepareParts {
  readonly issuer: string
  readonly signer: TokenSigner
  readonly rules: RequestRules
  /** The collection whose rules a registration must satisfy. */
  readonly oauthApps: Collection
  /** The name of the service, which no app may have. */
  readonly serviceName: string
}

export interface PreparedOauthRequest {
  readonly req: IncomingMessage
  readonly form?: Parameters
  readonly refusal?: OauthRefusal | undefined
}

/** The resource identifiers of this server: its issuer, REST and GraphQL. Every token is valid for all of them. */
export function resourcesOf(issuer: string): ReadonlySet<string> {
  return new Set([issuer, `${issuer}/api/v1`, `${issuer}/graphql`])
}

async function preparedForm(
  path: string,
  headers: IncomingHttpHeaders,
  sent: Parameters,
  parts: PrepareParts,
): Promise<Parameters> {
  const { rules } = parts
  switch (path) {
    case routes.token:
      return tokenRequest(sent, rules)
    case routes.pushed_authorization_request:
      return markOmittedRedirectUri(sent, parameters => authorizationRequest(parameters, rules))
    case routes.device_authorization:
      return deviceRequest(sent, rules, basicClientId(headers))
    case routes.introspection:
    case routes.revocation:
      return sent.map(([name, value]) => [name, name === 'token' ? handleOf(value, parts) : value])
    default:
      return sent
  }
}

/** The same request with another body, as a stream that has not been read. */
function withBody(req: IncomingMessage, text: string | Buffer): IncomingMessage {
  const body = Buffer.from(text)
  const headers: IncomingHttpHeaders = { ...req.headers, 'content-length': String(body.length) }
  if (headers['transfer-encoding'] !== undefined) delete headers['transfer-encoding']
  const { method, url, socket, httpVersion, httpVersionMajor, httpVersionMinor } = req
  const head = { headers, method, url, socket, httpVersion, httpVersionMajor, httpVersionMinor }
  return Object.assign(Readable.from([body]), head) as unknown as IncomingMessage
}

async function authorizeUrl(query: string, { rules }: PrepareParts): Promise<string> {
  const parameters = await markOmittedRedirectUri(parseForm(query), unmarked =>
    authorizationRequest(unmarked, rules),
  )
  return `${routes.authorization}?${formText(parameters)}`
}

/** The value of a JSON body; undefined for a body of another type. */
function jsonBody({ headers }: IncomingMessage, body: Buffer): unknown {
  return mediaTypeOf(headers) === 'application/json' ? parseJson(body.toString()) : undefined
}

/** RFC 7592, 2.2: an update names its client and may repeat the secret. Only the hash of the secret is stored. */
function identityOf(req: IncomingMessage, sent: unknown): object {
  if (req.method !== 'PUT' || typeof sent !== 'object' || sent === null) return {}
  const { client_id, client_secret } = sent as Readonly<Record<string, unknown>>
  return {
    client_id,
    ...(client_secret === undefined ? undefined : { client_secret: secretHash(String(client_secret)) }),
  }
}

/**
 * A registration with the metadata that we accept. Faulty metadata is replaced by metadata that oidc-provider refuses
 * after it has checked the credential: only an authenticated client may see the fault.
 */
function prepareRegistration(
  req: IncomingMessage,
  body: Buffer,
  { oauthApps: apps, serviceName }: PrepareParts,
): PreparedOauthRequest {
  const sent = jsonBody(req, body)
  const checked = checkedRegistration({ apps, serviceName }, sent)
  req.headers['content-type'] = 'application/json'
  const metadata = checked.kind === 'accepted' ? checked.metadata : { redirect_uris: 0 }
  const prepared = withBody(req, JSON.stringify({ ...metadata, ...identityOf(req, sent) }))
  if (checked.kind === 'accepted') return { req: prepared }
  return { req: prepared, refusal: { ...checked.fault, afterAuthentication: true } }
}

function refusalOf(sent: Parameters): OauthRefusal | undefined {
  const repeated = repeatedParameter(sent)
  if (repeated === undefined) return undefined
  const description = `\`${repeated.slice(0, 100)}\` must not be repeated`
  return { error: 'invalid_request', description, afterAuthentication: false }
}

/**
 * Whether a request continues here after its interaction, which has its parameters. oidc-provider would take those in the
 * address for them when it reports an error.
 */
function isContinuation(path: string): boolean {
  return [routes.authorization, routes.code_verification].some(route => path.startsWith(`${route}/`))
}

/** `body`: of a POST or PUT, already read. */
export async function prepareRequest(
  req: IncomingMessage,
  body: RequestBody | undefined,
  parts: PrepareParts,
): Promise<PreparedOauthRequest> {
  const [path = '', query = ''] = (req.url ?? '').split(/\?(.*)/s)
  if (path === routes.authorization) req.url = await authorizeUrl(query, parts)
  if (isContinuation(path)) req.url = path
  if (path === routes.device_authorization && (req.method === 'GET' || req.method === 'HEAD')) {
    req.url = query === '' ? routes.code_verification : `${routes.code_verification}?${query}`
  }
  if (body === undefined) return { req }
  if (path === routes.registration || path.startsWith(`${routes.registration}/`)) {
    return prepareRegistration(req, body.bytes, parts)
  }
  if (!body.form) return { req: withBody(req, body.bytes) }
  const form = await preparedForm(path, req.headers, body.form, parts)
  return { req: withBody(req, formText(form)), form, refusal: refusalOf(body.form) }
}
