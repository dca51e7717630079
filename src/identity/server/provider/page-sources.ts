/** Our pages as the functions with which oidc-provider renders pages: its `…Source` options and `renderError`. */
import type { Client, Context } from 'oidc-provider'
import { isBrowserPath } from '../../accounts/paths.ts'
import { appOf } from '../clients/client-metadata.ts'
import type { App, ProtocolFault, ProtocolPages } from '../server.ts'
import { type ErrorBody, routes, type Sources } from './configuration.ts'

/** Messages of the device page, by the name of the error of oidc-provider. */
const deviceFaults: Readonly<Record<string, string>> = {
  NoCodeError: 'Enter the code that your device shows.',
  NotFoundError: 'This code does not exist. Compare it with the code on your device.',
  ExpiredError: 'The code has expired. Start again on your device.',
  AlreadyUsedError: 'This code has already been used. Start again on your device.',
  InvalidRequest: 'This page is no longer valid. Enter the code again.',
}

function faultOf(fault: unknown): string | undefined {
  if (!(fault instanceof Error)) return undefined
  return deviceFaults[fault.name] ?? 'This did not work. Start again on your device.'
}

function enteredCode(fault: unknown): string | undefined {
  if (typeof fault !== 'object' || fault === null || !('userCode' in fault)) return undefined
  return typeof fault.userCode === 'string' ? fault.userCode : undefined
}

/** The token of our own forms against cross-site request forgery. oidc-provider keeps it in the session. */
function formSecret(ctx: Context): string {
  const { state } = ctx.oidc.session as unknown as { state?: { secret?: unknown } }
  return String(state?.secret ?? '')
}

/** `Accept-Language` (RFC 9110, 12.5.4). */
function languagesOf(ctx: Context): string | undefined {
  return ctx.get('accept-language') || undefined
}

function respondWith(ctx: Context, document: string): void {
  ctx.type = 'html'
  ctx.body = document
}

/** The registered app that `client_id` names, even if the request was refused before the client was looked up. */
async function requestedApp({ oidc, query }: Context): Promise<App | undefined> {
  const loaded = oidc?.entities?.Client as Client | undefined
  if (loaded) return appOf(loaded)
  const clientId = oidc?.params?.client_id ?? query.client_id
  const client = typeof clientId === 'string' ? await oidc?.provider.Client.find(clientId) : undefined
  return client && appOf(client)
}

function kindOf({ path }: Context, error: string, thrown: unknown, isKnown: boolean): ProtocolFault['kind'] {
  if (error === 'server_error' || error === 'temporarily_unavailable') return 'service'
  if (thrown instanceof Error && thrown.name === 'SessionNotFound') return 'over'
  if (error === 'invalid_client') return isKnown ? 'request' : 'unknown-app'
  if (error === 'invalid_redirect_uri') return 'wrong-address'
  return path.startsWith(routes.end_session) ? 'sign-out' : 'request'
}

/**
 * Whether oidc-provider shows the device page to a browser whose session it has not stored: its form could not be sent,
 * and storing the session now would fail.
 */
function isWithoutSession({ oidc }: Context, fault: unknown): boolean {
  return fault !== undefined && oidc.session.exp === undefined
}

function errorPage(
  pages: ProtocolPages,
  ctx: Context,
  { error, error_description: description }: ErrorBody,
  kind: ProtocolFault['kind'],
  app?: App,
): void {
  const requestId = ctx.response.get('x-request-id') ?? ''
  respondWith(
    ctx,
    pages.error({ kind, error, description, app, requestId, at: Date.now() }, languagesOf(ctx)),
  )
}

/** The functions by which oidc-provider renders its pages. */
export function pageSources(pages: ProtocolPages): Sources {
  return {
    error: async (ctx, out, thrown) => {
      // RFC 6749, 5.2: JSON, whatever the client accepts.
      if (!isBrowserPath(ctx.path)) {
        ctx.body = out
        return
      }
      const app = await requestedApp(ctx)
      errorPage(pages, ctx, out, kindOf(ctx, out.error, thrown, app !== undefined), app)
    },
    deviceCode: (ctx, out, fault) => {
      if (out !== undefined && isWithoutSession(ctx, fault)) {
        ctx.oidc.session.touched = false
        errorPage(pages, ctx, out, 'over')
        return
      }
      const hidden = { xsrf: formSecret(ctx) }
      const page = {
        action: routes.code_verification,
        hidden,
        entered: enteredCode(fault),
        fault: faultOf(fault),
        isStopped: fault instanceof Error && fault.name === 'AbortedError',
      }
      respondWith(ctx, pages.deviceCode(page, languagesOf(ctx)))
    },
    deviceConfirm: (ctx, userCode) => {
      const hidden = { xsrf: formSecret(ctx), user_code: userCode, confirm: 'yes' }
      respondWith(
        ctx,
        pages.deviceConfirm(
          { action: routes.code_verification, hidden, app: currentApp(ctx), userCode },
          languagesOf(ctx),
        ),
      )
    },
    deviceDone: ctx => respondWith(ctx, pages.deviceDone({ app: currentApp(ctx) }, languagesOf(ctx))),
    signOut: ctx =>
      respondWith(
        ctx,
        pages.signOut(
          { action: `${routes.end_session}/confirm`, hidden: { xsrf: formSecret(ctx) } },
          languagesOf(ctx),
        ),
      ),
    signedOut: ctx => respondWith(ctx, pages.signedOut(languagesOf(ctx))),
  }
}

function currentApp(ctx: Context) {
  return appOf(ctx.oidc.entities.Client as Client)
}
