/** Our pages as the functions with which oidc-provider renders pages: its `…Source` options and `renderError`. */
import type { Client, Context } from 'oidc-provider'
import { isForPeople } from '../../accounts/paths.ts'
import { appOf } from '../clients/client-metadata.ts'
import type { App, ProtocolFault, ProtocolPages } from '../server.ts'
import { routes, type Sources } from './configuration.ts'

/** Messages of the device page, by the name of the error of oidc-provider. */
const deviceFaults: Readonly<Record<string, string>> = {
  NoCodeError: 'Enter the code that your device shows.',
  NotFoundError: 'There is no such code. Compare it with the one on your device.',
  ExpiredError: 'The code has expired. Start again on your device.',
  AlreadyUsedError: 'The code was used already. Start again on your device.',
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

function show(ctx: Context, document: string): void {
  ctx.type = 'html'
  ctx.body = document
}

/** The registered app that `client_id` names, even if the request was refused before the client was looked up. */
async function appNamedIn({ oidc, query }: Context): Promise<App | undefined> {
  const known = oidc?.entities?.Client as Client | undefined
  if (known) return appOf(known)
  const named = oidc?.params?.client_id ?? query.client_id
  const client = typeof named === 'string' ? await oidc?.provider.Client.find(named) : undefined
  return client && appOf(client)
}

function kindOf({ path }: Context, error: string, thrown: unknown, isKnown: boolean): ProtocolFault['kind'] {
  if (error === 'server_error' || error === 'temporarily_unavailable') return 'service'
  if (thrown instanceof Error && thrown.name === 'SessionNotFound') return 'over'
  if (error === 'invalid_client') return isKnown ? 'request' : 'unknown-app'
  if (error === 'invalid_redirect_uri') return 'wrong-address'
  return path.startsWith(routes.end_session) ? 'sign-out' : 'request'
}

export function pageSources(pages: ProtocolPages): Sources {
  return {
    error: async (ctx, out, thrown) => {
      // RFC 6749, 5.2: JSON, whatever the client accepts.
      if (!isForPeople(ctx.path)) {
        ctx.body = out
        return
      }
      const { error, error_description: description } = out
      const app = await appNamedIn(ctx)
      const kind = kindOf(ctx, error, thrown, app !== undefined)
      const requestId = ctx.response.get('x-request-id') ?? ''
      show(ctx, pages.error({ kind, error, description, app, requestId, at: Date.now() }))
    },
    deviceCode: (ctx, _out, fault) => {
      const hidden = { xsrf: formSecret(ctx) }
      const page = {
        action: routes.code_verification,
        hidden,
        entered: enteredCode(fault),
        fault: faultOf(fault),
        isStopped: fault instanceof Error && fault.name === 'AbortedError',
      }
      show(ctx, pages.deviceCode(page))
    },
    deviceConfirm: (ctx, userCode) => {
      const hidden = { xsrf: formSecret(ctx), user_code: userCode, confirm: 'yes' }
      show(
        ctx,
        pages.deviceConfirm({ action: routes.code_verification, hidden, app: clientOf(ctx), userCode }),
      )
    },
    deviceDone: ctx => show(ctx, pages.deviceDone({ app: clientOf(ctx) })),
    signOut: ctx =>
      show(
        ctx,
        pages.signOut({ action: `${routes.end_session}/confirm`, hidden: { xsrf: formSecret(ctx) } }),
      ),
    signedOut: ctx => show(ctx, pages.signedOut()),
  }
}

function clientOf(ctx: Context) {
  return appOf(ctx.oidc.entities.Client as Client)
}
