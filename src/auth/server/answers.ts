/** What the library answers, as our clients expect it. */
import type { IncomingMessage } from 'node:http'
import type Provider from 'oidc-provider'
import type { Client, Context } from 'oidc-provider'
import type { Records } from '../../records.ts'
import { routes } from './configuration.ts'
import { isTooFast, pollIntervalSeconds, tooFast } from './device-pace.ts'
import { formOf, tokenResponse, wantsForm } from './dialect.ts'
import { noteReason, type OnGrantRefusal, withReason } from './grant-refusals.ts'
import { type Refusal, refusalOf } from './requests.ts'
import { allowedScope } from './scopes.ts'

interface Answers {
  readonly separator: ',' | ' '
  readonly issuer: string
  readonly records: Records
  /** How long a device code lives, in milliseconds. */
  readonly deviceCodeLifeMs: number
  readonly onGrantRefusal: OnGrantRefusal
}

/**
 * Pages are shown in no frame and load nothing from elsewhere but pictures. The library adds the hashes of its
 * own scripts. No `form-action`: browsers hold redirects to it too, and apps are elsewhere.
 */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' https: data:; frame-ancestors 'none'; base-uri 'none'"

type Body = Record<string, unknown>

function isObject(body: unknown): body is Body {
  return typeof body === 'object' && body !== null && !Buffer.isBuffer(body)
}

/** What a device hears whose code is not approved yet. */
async function paced(ctx: Context, pending: Body, { records, deviceCodeLifeMs }: Answers): Promise<Body> {
  const { device_code: code } = ctx.oidc.params
  return typeof code === 'string' && (await isTooFast(records, code, deviceCodeLifeMs)) ? tooFast : pending
}

async function shapeToken(ctx: Context, given: Body, answers: Answers): Promise<void> {
  const { separator, onGrantRefusal } = answers
  const body =
    given.error === 'authorization_pending'
      ? await paced(ctx, given, answers)
      : withReason(ctx, given, onGrantRefusal)
  const client = ctx.oidc.entities.Client as Client | undefined
  const own =
    client?.scope_separator === ',' || client?.scope_separator === ' ' ? client.scope_separator : separator
  const answer = 'access_token' in body ? tokenResponse(body, own) : body
  if (!wantsForm(ctx.get('accept'))) {
    ctx.body = answer
    return
  }
  ctx.body = formOf(answer)
  ctx.type = 'application/x-www-form-urlencoded'
}

/** RFC 8628, 3.2: the address that a person types is the short one. And how often a device may ask. */
function shapeDevice(ctx: Context, body: Body): void {
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
  ctx.body = { error: 'invalid_client', error_description: 'introspection takes a client secret' }
}

/** RFC 7662, 2.2: every token is for this server; the id of a JWT is what stands in it. */
function shapeIntrospection(ctx: Context, body: Body, { issuer }: Answers): void {
  const client = ctx.oidc.entities.Client as Client | undefined
  // Whatever the token: whoever has no secret asks for nothing (RFC 7662, 2.1).
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

/** RFC 7591, 3.2.1: what was registered. A secret is told when it is made; later only its hash is known. */
function shapeRegistration(ctx: Context, body: Body): void {
  const { secret_hashes: _hashes, ...shown } = body
  const before = ctx.status === 201 ? undefined : (ctx.oidc.entities.Client as Client | undefined)
  if (before && shown.client_secret === before.clientSecret) delete shown.client_secret
  ctx.body = shown
}

type Shape = (ctx: Context, body: Body, answers: Answers) => void | Promise<void>

const shapes: Readonly<Record<string, Shape>> = {
  [routes.token]: shapeToken,
  [routes.device_authorization]: shapeDevice,
  [routes.introspection]: shapeIntrospection,
  [routes.registration]: shapeRegistration,
}

function shapeOf(path: string) {
  return path.startsWith(`${routes.registration}/`) ? shapeRegistration : shapes[path]
}

async function shape(ctx: Context, answers: Answers): Promise<void> {
  const { body, path } = ctx
  if (isObject(body)) await shapeOf(path)?.(ctx, body, answers)
}

/** A redirect within this server keeps to the name under which the browser found it. */
function keepToHost(ctx: Context, issuer: string): void {
  const location = ctx.response.get('location')
  if (location?.startsWith(`${issuer}/oauth/`)) ctx.set('location', location.slice(issuer.length))
}

/** What nobody foresaw. Left to Koa, it would take every header off the answer. */
function fail(provider: Provider, ctx: Context, error: unknown): void {
  provider.emit('error', error)
  ctx.status = 500
  ctx.body = { error: 'server_error', error_description: 'Something went wrong on our side.' }
}

/** What of the answers is for everybody, and how long; what signs is asked for whenever it is not known. */
function cachingOf({ path, status }: Context): string {
  if (status !== 200) return 'no-store'
  if (path === routes.jwks) return 'public, no-cache'
  return path.startsWith('/.well-known/') ? 'public, max-age=3600' : 'no-store'
}

/** RFC 7009, 2.2: the body says nothing; some clients insist that it be JSON. */
function shapeRevocation(ctx: Context): void {
  if (ctx.path === routes.revocation && ctx.status === 200) ctx.body = {}
}

/** Whether the library has let the client in, and faults what it registers. */
function isAboutMetadata({ status, body }: Context): boolean {
  return (
    status === 400 && isObject(body) && /^invalid_(redirect_uri|client_metadata)$/.test(String(body.error))
  )
}

const refusals = new WeakSet<IncomingMessage>()

/** Whether a request was refused for a reason that could be a guess. */
export function wasRefused(req: IncomingMessage): boolean {
  return refusals.has(req)
}

/** RFC 8628, 3.5, and RFC 9449, 8: what a client that does everything right hears on its way. */
const onTheWay: ReadonlySet<unknown> = new Set(['authorization_pending', 'slow_down', 'use_dpop_nonce'])

function noteRefusal({ req, status, body }: Context): void {
  if (status < 400 || status >= 500 || (isObject(body) && onTheWay.has(body.error))) return
  refusals.add(req)
}

/** Answers in place of the library. */
function refuse(ctx: Context, { error, description }: Refusal): void {
  ctx.status = 400
  ctx.set('cache-control', 'no-store')
  ctx.body = { error, error_description: description }
  noteRefusal(ctx)
}

export function shapeAnswers(provider: Provider, answers: Answers): void {
  provider.on('grant.error', (ctx: never, error: never) => noteReason(ctx, error))
  provider.use(async (ctx, next) => {
    ctx.set('content-security-policy', policy)
    ctx.set('referrer-policy', 'no-referrer')
    const refusal = refusalOf(ctx.req)
    if (refusal?.afterwards === false) return refuse(ctx, refusal)
    await next().catch(error => fail(provider, ctx, error))
    if (refusal && isAboutMetadata(ctx)) refuse(ctx, refusal)
    noteRefusal(ctx)
    shapeRevocation(ctx)
    await shape(ctx, answers).catch(error => fail(provider, ctx, error))
    keepToHost(ctx, answers.issuer)
    if (!ctx.response.get('cache-control')) ctx.set('cache-control', cachingOf(ctx))
    if (!ctx.type?.includes('html')) ctx.response.remove('content-security-policy')
    else ctx.set('x-frame-options', 'DENY')
  })
}
