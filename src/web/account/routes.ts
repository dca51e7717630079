/** The routes of the account pages. */
import type { Call, Reply } from '../../base/call.ts'
import { ApiError } from '../../base/errors.ts'
import { serveStatic } from '../../base/static-assets.ts'
import { type AccountParts, createAccountBase } from '../../identity/accounts/accounts.ts'
import { interactionPrefix, isJsonCall } from '../../identity/accounts/paths.ts'
import {
  createProviders,
  type ProviderSettings,
  type SignInProviderParts,
} from '../../identity/accounts/providers/create.ts'
import { createShownOnce } from '../../identity/accounts/self-service/shown-once.ts'
import { createPasskeys } from '../../identity/accounts/sign-in/passkeys.ts'
import type { AuthorizationServer } from '../../identity/server/server.ts'
import { errorPageReply } from '../pages/frame/error-reply.ts'
import { type FrameOptions, scriptPath } from '../pages/frame/layout.ts'
import { renderReply } from '../pages/frame/reply.ts'
import { script } from '../pages/frame/script.ts'
import { accountRoute, appsRoute, sessionsRoute } from './account.ts'
import {
  findViewer,
  methodNotAllowed,
  type OwnPageOptions,
  type RouteParts,
  type RouteReply,
  redirect,
  type Viewer,
  type Visit,
} from './context.ts'
import { createCsrf } from './csrf.ts'
import { answerJson } from './json.ts'
import { passkeyOptionsRoute, securityRoute } from './security.ts'
import { editAppRoute, newAppRoute } from './self-service/app-form.ts'
import { appRoute, deleteAppRoute, developerRoute, endSecretRoute } from './self-service/developer.ts'
import { deleteRoute, exportRoute } from './self-service/export-and-delete.ts'
import { createdKeyRoute, keysRoute, newKeyRoute, revokeKeyRoute } from './self-service/keys.ts'
import { profileRoute } from './self-service/profile.ts'
import { editWebhookRoute, newWebhookRoute } from './self-service/webhook-form.ts'
import { deleteWebhookRoute, webhookRoute, webhooksRoute } from './self-service/webhooks.ts'
import { interactionRoute } from './sign-in/interaction.ts'
import { linkRoute } from './sign-in/link.ts'
import { continueAccountRoute, isContinuing, isProviderPath, providerRoute } from './sign-in/provider.ts'
import { resetRoute, verifyRoute } from './sign-in/reset.ts'
import { signInRoute, signOutRoute, signUpRoute } from './sign-in/sign-in.ts'

export type { Visit } from './context.ts'

/** The parts without `issuer`, `name`, `revokeAll` and `revokeOthers`, which come from the server and the theme. */
export interface AccountRouteOptions
  extends Omit<AccountParts, 'issuer' | 'name' | 'revokeAll' | 'revokeOthers'> {
  readonly server: AuthorizationServer
  readonly frame: FrameOptions
  readonly throttleAddress: (address: string) => string
  readonly providers: readonly ProviderSettings[]
  readonly sendToProvider: SignInProviderParts['send']
  readonly onProviderFault: RouteParts['onProviderFault']
  readonly readJson: (call: Call) => unknown
  /** Writes with the rules for clients. */
  readonly own: OwnPageOptions
}

export interface AccountRoutes {
  /** The body has been read. Errors that clients may see become pages, but are thrown for JSON calls. All others are thrown. */
  answer(visit: Visit): Promise<Reply>
}

/** `ids`: the numbers in the path. */
type Route = (parts: RouteParts, visit: Visit, ...ids: number[]) => Promise<RouteReply>
type ViewerRoute = (parts: RouteParts, visit: Visit, viewer: Viewer, ...ids: number[]) => Promise<RouteReply>

const pageAndForm = 'GET, HEAD, POST'

/** A page for users who are signed in. Redirects others to the sign-in page, which leads back. */
function signedIn(route: ViewerRoute): Route {
  return async (parts, visit, ...ids) => {
    const viewer = await findViewer(parts, visit)
    return viewer ? route(parts, visit, viewer, ...ids) : redirect(`/account/sign-in?next=${visit.path}`)
  }
}

type ItemRoute = (parts: RouteParts, visit: Visit, viewer: Viewer, id: number) => Promise<RouteReply>

/** For paths with `{id}`. */
function withId(route: ItemRoute): ViewerRoute {
  return (parts, visit, viewer, id = 0) => route(parts, visit, viewer, id)
}

type NestedRoute = (
  parts: RouteParts,
  visit: Visit,
  viewer: Viewer,
  id: number,
  nested: number,
) => Promise<RouteReply>

/** For paths that contain `{id}` twice. */
function withIds(route: NestedRoute): ViewerRoute {
  return (parts, visit, viewer, id = 0, nested = 0) => route(parts, visit, viewer, id, nested)
}

interface RouteEntry {
  readonly allow: string
  readonly route: Route
}

const routes: ReadonlyMap<string, RouteEntry> = new Map([
  ['/account', { allow: 'GET, HEAD', route: signedIn(accountRoute) }],
  [
    '/account/sign-in',
    {
      allow: pageAndForm,
      route: (parts, visit) =>
        isContinuing(visit) ? continueAccountRoute(parts, visit) : signInRoute(parts, visit),
    },
  ],
  ['/account/link', { allow: pageAndForm, route: signedIn(linkRoute) }],
  ['/account/sign-up', { allow: pageAndForm, route: signUpRoute }],
  ['/account/sign-out', { allow: 'POST', route: signOutRoute }],
  ['/account/apps', { allow: pageAndForm, route: signedIn(appsRoute) }],
  ['/account/sessions', { allow: pageAndForm, route: signedIn(sessionsRoute) }],
  ['/account/security', { allow: pageAndForm, route: signedIn(securityRoute) }],
  ['/account/keys', { allow: 'GET, HEAD', route: signedIn(keysRoute) }],
  ['/account/keys/new', { allow: pageAndForm, route: signedIn(newKeyRoute) }],
  ['/account/keys/{id}', { allow: 'GET, HEAD', route: signedIn(withId(createdKeyRoute)) }],
  ['/account/keys/{id}/revoke', { allow: pageAndForm, route: signedIn(withId(revokeKeyRoute)) }],
  ['/account/developer', { allow: 'GET, HEAD', route: signedIn(developerRoute) }],
  ['/account/developer/new', { allow: pageAndForm, route: signedIn(newAppRoute) }],
  ['/account/developer/{id}', { allow: pageAndForm, route: signedIn(withId(appRoute)) }],
  ['/account/developer/{id}/edit', { allow: pageAndForm, route: signedIn(withId(editAppRoute)) }],
  ['/account/developer/{id}/delete', { allow: pageAndForm, route: signedIn(withId(deleteAppRoute)) }],
  [
    '/account/developer/{id}/secrets/{id}/end',
    { allow: pageAndForm, route: signedIn(withIds(endSecretRoute)) },
  ],
  ['/account/webhooks', { allow: 'GET, HEAD', route: signedIn(webhooksRoute) }],
  ['/account/webhooks/new', { allow: pageAndForm, route: signedIn(newWebhookRoute) }],
  ['/account/webhooks/{id}', { allow: pageAndForm, route: signedIn(withId(webhookRoute)) }],
  ['/account/webhooks/{id}/edit', { allow: pageAndForm, route: signedIn(withId(editWebhookRoute)) }],
  ['/account/webhooks/{id}/delete', { allow: pageAndForm, route: signedIn(withId(deleteWebhookRoute)) }],
  ['/account/profile', { allow: pageAndForm, route: signedIn(profileRoute) }],
  ['/account/profile/export', { allow: pageAndForm, route: signedIn(exportRoute) }],
  ['/account/profile/delete', { allow: pageAndForm, route: signedIn(deleteRoute) }],
  ['/account/reset', { allow: pageAndForm, route: resetRoute }],
  ['/account/verify', { allow: pageAndForm, route: verifyRoute }],
  [
    '/account/passkeys/get',
    { allow: 'POST', route: (parts, visit) => passkeyOptionsRoute(parts, visit, 'get') },
  ],
  [
    '/account/passkeys/create',
    { allow: 'POST', route: (parts, visit) => passkeyOptionsRoute(parts, visit, 'create') },
  ],
])

/** A decimal number in a path that JavaScript represents exactly. */
const idPattern = /\/([1-9]\d{0,14})(?=\/|$)/g

const interaction: RouteEntry = {
  allow: pageAndForm,
  route: (parts, visit) => interactionRoute(parts, visit, visit.path.slice(interactionPrefix.length)),
}

const provider: RouteEntry = { allow: pageAndForm, route: providerRoute }

function entryOf(path: string): RouteEntry | undefined {
  if (path.startsWith(interactionPrefix)) return interaction
  return isProviderPath(path) ? provider : undefined
}

const answerScript = serveStatic({
  assets: new Map([[scriptPath, { type: 'script', read: () => script, maxAgeSeconds: 300 }]]),
})

/**
 * Chromium applies `form-action` to every redirect that follows, including those between the provider's own sites, so all
 * addresses with these schemes are allowed.
 */
function leadsToProviders(providers: readonly ProviderSettings[]): string | undefined {
  if (providers.length === 0) return undefined
  return providers.some(settings => settings.kind === 'oidc' && settings.allowPrivate)
    ? 'https: http:'
    : 'https:'
}

/** The pages and JSON operations below `/account`, and the interaction pages of the authorization server. */
export function createAccountRoutes(options: AccountRouteOptions): AccountRoutes {
  const { server, frame, throttleAddress, readJson, own, ...otherOptions } = options
  const { providers: settings, sendToProvider: send, onProviderFault, ...accountParts } = otherOptions
  const { issuer } = server
  const base = createAccountBase({
    ...accountParts,
    issuer,
    name: frame.theme.name,
    revokeAll: (userId, exceptSession) => server.revokeAll(userId, exceptSession),
    revokeOthers: (userId, session) => server.revokeOthers(userId, session),
  })
  const { records, now } = base
  const passkeys = createPasskeys({ records, tokens: base.tokens, issuer, rpName: frame.theme.name, now })
  const providers = createProviders(settings, { send, now })
  const parts: RouteParts = {
    ...{ base, server, passkeys, frame, throttleAddress, readJson, own, onProviderFault, providers },
    csrf: createCsrf(issuer),
    shownOnce: createShownOnce(records, now),
    providersLeadTo: leadsToProviders(settings),
  }

  const languageOf = ({ language, headers }: Visit) =>
    language ?? base.mail.pageLanguage(headers['accept-language'])

  const answer = async (visit: Visit): Promise<Reply> => {
    const { path, method } = visit
    if (path === scriptPath) return answerScript(visit)
    const ids = [...path.matchAll(idPattern)].map(([, id]) => Number(id))
    const entry = routes.get(path.replaceAll(idPattern, '/{id}')) ?? entryOf(path)
    if (!entry) throw new ApiError('NOT_FOUND')
    if (!entry.allow.split(', ').includes(method)) throw methodNotAllowed(entry.allow)
    if (isJsonCall(visit)) return answerJson(parts, visit)
    const reply = await entry.route(parts, visit, ...ids)
    return 'page' in reply ? renderReply(frame, reply, languageOf(visit)) : reply
  }
  return {
    async answer(visit) {
      if (isJsonCall(visit)) return answer(visit)
      try {
        return await answer(visit)
      } catch (error) {
        if (!(error instanceof ApiError) || error.status >= 500) throw error
        return errorPageReply(frame, languageOf(visit), error, visit, base.now())
      }
    },
  }
}
