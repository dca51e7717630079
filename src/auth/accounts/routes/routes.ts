/** The routes of the account pages. */
import type { Call, Reply } from '../../../call.ts'
import { ApiError } from '../../../errors.ts'
import { type StaticAsset, serveStatic } from '../../../static-assets.ts'
import { errorPageReply } from '../../pages/frame/error-reply.ts'
import { scriptPath, stylesheetPath } from '../../pages/frame/layout.ts'
import { script } from '../../pages/frame/script.ts'
import { stylesheet } from '../../pages/frame/stylesheet.ts'
import type { Theme } from '../../pages/frame/theme.ts'
import type { AuthorizationServer } from '../../server/server.ts'
import { type AccountParts, createAccountBase } from '../accounts.ts'
import { createShownOnce } from '../own/shown-once.ts'
import { interactionPrefix, isJsonCall } from '../paths.ts'
import { createProviders, type ProviderParts, type ProviderSettings } from '../providers/create.ts'
import { createPasskeys } from '../sign-in/passkeys.ts'
import { accountRoute, appsRoute, sessionsRoute } from './account.ts'
import {
  methodNotAllowed,
  type OwnPages,
  type RouteParts,
  redirect,
  type SignedIn,
  signedIn,
  type Visit,
} from './context.ts'
import { createCsrf } from './csrf.ts'
import { answerJson } from './json.ts'
import { editAppRoute, newAppRoute } from './own/app-form.ts'
import { appRoute, deleteAppRoute, developerRoute, endSecretRoute } from './own/developer.ts'
import { keysRoute, madeKeyRoute, newKeyRoute, revokeKeyRoute } from './own/keys.ts'
import { deleteRoute, exportRoute } from './own/leaving.ts'
import { profileRoute } from './own/profile.ts'
import { editWebhookRoute, newWebhookRoute } from './own/webhook-form.ts'
import { deleteWebhookRoute, webhookRoute, webhooksRoute } from './own/webhooks.ts'
import { passkeyOptionsRoute, securityRoute } from './security.ts'
import { interactionRoute } from './sign-in/interaction.ts'
import { linkRoute } from './sign-in/link.ts'
import { continueAccountRoute, isContinuing, isProviderPath, providerRoute } from './sign-in/provider.ts'
import { resetRoute, verifyRoute } from './sign-in/reset.ts'
import { signInRoute, signOutRoute, signUpRoute } from './sign-in.ts'

export type { Visit } from './context.ts'

/** `issuer`, `name`, `revokeAll` and `revokeOthers` come from the server and the theme. */
export interface AccountRouteOptions
  extends Omit<AccountParts, 'issuer' | 'name' | 'revokeAll' | 'revokeOthers'> {
  readonly server: AuthorizationServer
  readonly theme: Theme
  readonly throttleAddress: (address: string) => string
  readonly providers: readonly ProviderSettings[]
  readonly sendToProvider: ProviderParts['send']
  readonly onProviderFault: RouteParts['onProviderFault']
  readonly readJson: (call: Call) => unknown
  /** Writes with the rules for clients. */
  readonly own: OwnPages
}

export interface AccountRoutes {
  /** The body is read already. Errors that clients may see become pages, except for JSON calls. Others are thrown. */
  answer(visit: Visit): Promise<Reply>
}

/** `ids`: the numbers in the path. */
type Route = (parts: RouteParts, visit: Visit, ...ids: number[]) => Promise<Reply>
type OwnRoute = (parts: RouteParts, visit: Visit, who: SignedIn, ...ids: number[]) => Promise<Reply>

const both = 'GET, HEAD, POST'

/** A page for users who are signed in. Others are sent to the sign-in page, and come back. */
function own(route: OwnRoute): Route {
  return async (parts, visit, ...ids) => {
    const who = await signedIn(parts, visit)
    return who ? route(parts, visit, who, ...ids) : redirect(`/account/sign-in?next=${visit.path}`)
  }
}

type ItemRoute = (parts: RouteParts, visit: Visit, who: SignedIn, id: number) => Promise<Reply>

/** For paths with `{id}`. */
function withId(route: ItemRoute): OwnRoute {
  return (parts, visit, who, id = 0) => route(parts, visit, who, id)
}

type NestedRoute = (
  parts: RouteParts,
  visit: Visit,
  who: SignedIn,
  id: number,
  nested: number,
) => Promise<Reply>

/** For paths with two `{id}`. */
function withIds(route: NestedRoute): OwnRoute {
  return (parts, visit, who, id = 0, nested = 0) => route(parts, visit, who, id, nested)
}

interface Entry {
  readonly allow: string
  readonly route: Route
}

const routes: ReadonlyMap<string, Entry> = new Map([
  ['/account', { allow: 'GET, HEAD', route: own(accountRoute) }],
  [
    '/account/sign-in',
    {
      allow: both,
      route: (parts, visit) =>
        isContinuing(visit) ? continueAccountRoute(parts, visit) : signInRoute(parts, visit),
    },
  ],
  ['/account/link', { allow: both, route: own(linkRoute) }],
  ['/account/sign-up', { allow: both, route: signUpRoute }],
  ['/account/sign-out', { allow: 'POST', route: signOutRoute }],
  ['/account/apps', { allow: both, route: own(appsRoute) }],
  ['/account/sessions', { allow: both, route: own(sessionsRoute) }],
  ['/account/security', { allow: both, route: own(securityRoute) }],
  ['/account/keys', { allow: 'GET, HEAD', route: own(keysRoute) }],
  ['/account/keys/new', { allow: both, route: own(newKeyRoute) }],
  ['/account/keys/{id}', { allow: 'GET, HEAD', route: own(withId(madeKeyRoute)) }],
  ['/account/keys/{id}/revoke', { allow: both, route: own(withId(revokeKeyRoute)) }],
  ['/account/developer', { allow: 'GET, HEAD', route: own(developerRoute) }],
  ['/account/developer/new', { allow: both, route: own(newAppRoute) }],
  ['/account/developer/{id}', { allow: both, route: own(withId(appRoute)) }],
  ['/account/developer/{id}/edit', { allow: both, route: own(withId(editAppRoute)) }],
  ['/account/developer/{id}/delete', { allow: both, route: own(withId(deleteAppRoute)) }],
  ['/account/developer/{id}/secrets/{id}/end', { allow: both, route: own(withIds(endSecretRoute)) }],
  ['/account/webhooks', { allow: 'GET, HEAD', route: own(webhooksRoute) }],
  ['/account/webhooks/new', { allow: both, route: own(newWebhookRoute) }],
  ['/account/webhooks/{id}', { allow: both, route: own(withId(webhookRoute)) }],
  ['/account/webhooks/{id}/edit', { allow: both, route: own(withId(editWebhookRoute)) }],
  ['/account/webhooks/{id}/delete', { allow: both, route: own(withId(deleteWebhookRoute)) }],
  ['/account/profile', { allow: both, route: own(profileRoute) }],
  ['/account/profile/export', { allow: both, route: own(exportRoute) }],
  ['/account/profile/delete', { allow: both, route: own(deleteRoute) }],
  ['/account/reset', { allow: both, route: resetRoute }],
  ['/account/verify', { allow: both, route: verifyRoute }],
  [
    '/account/passkeys/get',
    { allow: 'POST', route: (parts, visit) => passkeyOptionsRoute(parts, visit, 'get') },
  ],
  [
    '/account/passkeys/create',
    { allow: 'POST', route: (parts, visit) => passkeyOptionsRoute(parts, visit, 'create') },
  ],
])

/** A decimal number that JavaScript represents exactly. */
const idInPath = /\/([1-9]\d{0,14})(?=\/|$)/g

const interaction: Entry = {
  allow: both,
  route: (parts, visit) => interactionRoute(parts, visit, visit.path.slice(interactionPrefix.length)),
}

const provider: Entry = { allow: both, route: providerRoute }

function entryOf(path: string): Entry | undefined {
  if (path.startsWith(interactionPrefix)) return interaction
  return isProviderPath(path) ? provider : undefined
}

function assetsOf(theme: Theme): ReadonlyMap<string, StaticAsset> {
  return new Map<string, StaticAsset>([
    [stylesheetPath, { type: 'css', read: () => stylesheet(theme), maxAgeSeconds: 300 }],
    [scriptPath, { type: 'script', read: () => script, maxAgeSeconds: 300 }],
  ])
}

/**
 * Chromium applies `form-action` to every redirect that follows, including those between the provider's own sites, so all
 * addresses with these schemes are allowed.
 */
function leadsToProviders(providers: readonly ProviderSettings[]): string | undefined {
  if (providers.length === 0) return undefined
  return providers.some(one => one.kind === 'oidc' && one.allowPrivate) ? 'https: http:' : 'https:'
}

export function createAccountRoutes(options: AccountRouteOptions): AccountRoutes {
  const { server, theme, throttleAddress, readJson, own, ...more } = options
  const { providers: given, sendToProvider: send, onProviderFault, ...rest } = more
  const { issuer } = server
  const base = createAccountBase({
    ...rest,
    issuer,
    name: theme.name,
    revokeAll: (userId, exceptSession) => server.revokeAll(userId, exceptSession),
    revokeOthers: (userId, session) => server.revokeOthers(userId, session),
  })
  const { records, now } = base
  const passkeys = createPasskeys({ records, tokens: base.tokens, issuer, rpName: theme.name, now })
  const providers = createProviders(given, { send, now })
  const parts: RouteParts = {
    ...{ base, server, passkeys, theme, throttleAddress, readJson, own, onProviderFault, providers },
    csrf: createCsrf(issuer),
    shownOnce: createShownOnce(records, now),
    providersLeadTo: leadsToProviders(given),
  }
  const assets = assetsOf(theme)
  const answerAsset = serveStatic({ assets })

  const answer = async (visit: Visit): Promise<Reply> => {
    const { path, method } = visit
    if (assets.has(path)) return answerAsset(visit)
    const ids = [...path.matchAll(idInPath)].map(([, id]) => Number(id))
    const entry = routes.get(path.replaceAll(idInPath, '/{id}')) ?? entryOf(path)
    if (!entry) throw new ApiError('NOT_FOUND')
    if (!entry.allow.split(', ').includes(method)) throw methodNotAllowed(entry.allow)
    return entry.route(parts, visit, ...ids)
  }
  return {
    async answer(visit) {
      if (isJsonCall(visit)) return answerJson(parts, visit)
      try {
        return await answer(visit)
      } catch (error) {
        if (!(error instanceof ApiError) || error.status >= 500) throw error
        return errorPageReply(theme, error, visit, base.now())
      }
    },
  }
}
