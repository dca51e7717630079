/** Changes oidc-provider's responses to what our clients expect. */

import type Provider from 'oidc-provider'
import type { Client, Context } from 'oidc-provider'
import { basePathOf, htmlWithBasePath } from '../../../base/base-path.ts'
import type { Records } from '../../../base/records.ts'
import { isBrowserPath } from '../../accounts/paths.ts'
import { allowedScope } from '../consent/scopes.ts'
import { routes } from '../provider/configuration.ts'
import { currentState, type OauthRefusal } from '../provider/request-state.ts'
import { formType } from '../requests/form.ts'
import { isTooFast, pollIntervalSeconds, tooFast } from '../tokens/device-polling.ts'
import { noteInvalidGrant, type OnGrantRefusal, withReason } from './invalid-grant.ts'
import { acceptsOnlyForm, responseAsForm, tokenResponse } from './token-response.ts'

interface ResponseParts {
  readonly separator: ',' | ' '
  readonly issuer: string
  readonly records: Records
  readonly deviceCodeLifeMs: number
  readonly onGrantRefusal: OnGrantRefusal
}

/**
 * Pages cannot be framed, and load only images from other sites. oidc-provider adds the hashes of its own scripts. There
 * is no `form-action`: browsers apply it to redirects too, and apps are on other sites.
 */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' https: data:; frame-ancestors 'none'; base-uri 'none'"

type Body = Record<string, unknown>

function isObject(body: unknown): body is Body {
  return typeof body === 'object' && body !== null && !Buffer.isBuffer(body)
}

/** The response to a poll for a device code that is not approved yet. */
async function pacedBody(
  ctx: Context,
  pending: Body,
  { records, deviceCodeLifeMs }: ResponseParts,
): Promise<Body> {
  const { device_code: code } = ctx.oidc.params
  return typeof code === 'string' && (await isTooFast(records, code, deviceCodeLifeMs)) ? tooFast : pending
}

async function shapeToken(ctx: Context, original: Body, parts: ResponseParts): Promise<void> {
  const { separator, onGrantRefusal } = parts
  const body =
    original.error === 'authorization_pending'
      ? await pacedBody(ctx, original, parts)
      : withReason(ctx, original, onGrantRefusal)
  const client = ctx.oidc.entities.Client as Client | undefined
  const ownSeparator =
    client?.scope_separator === ',' || client?.scope_separator === ' ' ? client.scope_separator : separator
  const answer = 'access_token' in body ? tokenResponse(body, ownSeparator) : body
  if (!acceptsOnlyForm(ctx.get('accept'))) {
    ctx.body = answer
    return
  }
  ctx.body = responseAsForm(answer)
  ctx.type = formType
}

/** RFC 8628, 3.2: shortens the address that users type, and adds the polling interval. */
function shapeDevice(ctx: Context, body: Body): void {
  if ('error' in body) return
  const shorten = (value: unknown) =>
    typeof value === 'string' ? value.replace(routes.code_verification, routes.device_authorization) : value
  const { verification_uri: uri, verification_uri_complete: complete } = body
  ctx.body = {
    ...body,
    verification_uri: shorten(uri),
    verification_uri_complete: shorten(complete),
    interval: pollIntervalSeconds,
  }
}

function refuseClient(ctx: Context): void {
  ctx.status = 401
  ctx.body = { error: 'invalid_client', error_description: 'introspection requires a client secret' }
}

/** RFC 7662, 2.2: the audience of every token is this server, and the `jti` that of the JWT. */
function shapeIntrospection(ctx: Context, body: Body, { issuer }: ResponseParts): void {
  const client = ctx.oidc.entities.Client as Client | undefined
  // Clients must authenticate, whatever the token (RFC 7662, 2.1).
  if (client?.clientAuthMethod === 'none') {
    refuseClient(ctx)
    return
  }
  if (body.active !== true) return
  const { jti, scope } = body
  ctx.body = {
    ...body,
    ...(typeof scope === 'string' ? { scope: allowedScope(scope, client) || undefined } : undefined),
    aud: issuer,
    ...(typeof jti === 'string' ? { jti: jti.replace(/^#/, '') } : undefined),
  }
}

/** RFC 7591, 3.2.1: the registered metadata. The secret is shown once, because only its hash is stored. */
function shapeRegistration(ctx: Context, body: Body): void {
  const { secret_hashes: _hashes, ...metadata } = body
  const existing = ctx.status === 201 ? undefined : (ctx.oidc.entities.Client as Client | undefined)
  if (existing && metadata.client_secret === existing.clientSecret) delete metadata.client_secret
  ctx.body = metadata
}

type Shape = (ctx: Context, body: Body, parts: ResponseParts) => void | Promise<void>

const shapes: Readonly<Record<string, Shape>> = {
  [routes.token]: shapeToken,
  [routes.device_authorization]: shapeDevice,
  [routes.introspection]: shapeIntrospection,
  [routes.registration]: shapeRegistration,
}

function shapeOf(path: string) {
  return path.startsWith(`${routes.registration}/`) ? shapeRegistration : shapes[path]
}

async function shape(ctx: Context, parts: ResponseParts): Promise<void> {
  const { body, path } = ctx
  if (isObject(body)) await shapeOf(path)?.(ctx, body, parts)
}

/** Redirects within this server are relative, so the browser stays on the host name that it used. */
function keepToHost(ctx: Context, issuer: string): void {
  const location = ctx.response.get('location')
  if (location?.startsWith(`${issuer}/oauth/`))
    ctx.set('location', location.slice(new URL(issuer).origin.length))
}

/** RFC 9700, 2.6: pages of other origins send browsers here, and read nothing. */
function withholdFromOtherOrigins({ path, response }: Context): void {
  if (!isBrowserPath(path)) return
  response.remove('access-control-allow-origin')
  response.remove('access-control-expose-headers')
}

/** An unexpected error. Koa's own handler would remove every header of the response. */
function fail(provider: Provider, ctx: Context, error: unknown): void {
  provider.emit('error', error)
  ctx.status = 500
  ctx.body = { error: 'server_error', error_description: 'Something went wrong on our side.' }
}

/** Metadata may be cached. Keys must be revalidated, because they rotate. Nothing else may be stored. */
function cacheControlFor({ path, status }: Context): string {
  if (status !== 200) return 'no-store'
  if (path === routes.jwks) return 'public, no-cache'
  return path.startsWith('/.well-known/') ? 'public, max-age=3600' : 'no-store'
}

/** RFC 7009, 2.2: the body is ignored, but some clients parse it as JSON. */
function shapeRevocation(ctx: Context): void {
  if (ctx.path === routes.revocation && ctx.status === 200) ctx.body = {}
}

/** Whether oidc-provider has accepted the client's credential and refused the metadata. */
function isMetadataRefusal({ status, body }: Context): boolean {
  return (
    status === 400 && isObject(body) && /^invalid_(redirect_uri|client_metadata)$/.test(String(body.error))
  )
}

/** RFC 8628, 3.5, and RFC 9449, 8: errors that a correct client gets on its way to a token. */
const expectedErrors: ReadonlySet<unknown> = new Set(['authorization_pending', 'slow_down', 'use_dpop_nonce'])

function noteRefusal({ status, body }: Context): void {
  const state = currentState()
  if (!state || status < 400 || status >= 500 || (isObject(body) && expectedErrors.has(body.error))) return
  state.wasRefused = true
}

/** Responds instead of oidc-provider. */
function refuse(ctx: Context, { error, description }: OauthRefusal): void {
  ctx.status = 400
  ctx.set('cache-control', 'no-store')
  ctx.body = { error, error_description: description }
  noteRefusal(ctx)
}

/** Adds the middleware that changes responses. `provider`: before it answers its first request. */
export function shapeResponses(provider: Provider, parts: ResponseParts): void {
  provider.on('grant.error', (_ctx: never, error: never) => noteInvalidGrant(error))
  provider.use(async (ctx, next) => {
    ctx.set('content-security-policy', contentSecurityPolicy)
    ctx.set('referrer-policy', 'no-referrer')
    withholdFromOtherOrigins(ctx)
    const refusal = currentState()?.refusal
    if (refusal?.afterAuthentication === false) return refuse(ctx, refusal)
    await next().catch(error => fail(provider, ctx, error))
    if (refusal && isMetadataRefusal(ctx)) refuse(ctx, refusal)
    noteRefusal(ctx)
    shapeRevocation(ctx)
    await shape(ctx, parts).catch(error => fail(provider, ctx, error))
    keepToHost(ctx, parts.issuer)
    if (!ctx.response.get('cache-control')) ctx.set('cache-control', cacheControlFor(ctx))
    if (!ctx.type?.includes('html')) ctx.response.remove('content-security-policy')
    else {
      ctx.set('x-frame-options', 'DENY')
      if (typeof ctx.body === 'string') ctx.body = htmlWithBasePath(ctx.body, basePathOf(parts.issuer))
    }
  })
}
