/** The state of a sign-in with a provider, from its start to its result: stored on the server, and bound to a browser by a cookie. */

import { ApiError } from '../../../base/errors.ts'
import type { Text } from '../../../base/html.ts'
import type { ProviderIdentity } from '../../../identity/accounts/identities.ts'
import type { TokenKind } from '../../../identity/accounts/link-tokens.ts'
import {
  type FaultReason,
  type FlowSecrets,
  type Provider,
  ProviderFault,
} from '../../../identity/accounts/providers/provider.ts'
import { cookieOf, hostCookieName, setHostCookie } from '../../../identity/cookie.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import { isSame, randomSecret } from '../../../identity/server/secret.ts'
import { messagePage } from '../../pages/frame/message.ts'
import { type RouteParts, type RouteReply, redirect, tooMany, type Visit } from '../context.ts'

/** The page that asks whether to link an identity. */
export const linkPath = '/account/link'

/** The purpose of a sign-in with a provider. */
export type Purpose =
  | {
      readonly kind: 'sign-in'
      /** Where to go afterwards. */
      readonly next?: string | undefined
      /** The uid of the pending authorization request. */
      readonly interaction?: string | undefined
      /** Whether a user who is signed in confirms their identity. Such a sign-in creates no account. */
      readonly confirms: boolean
    }
  | { readonly kind: 'link'; readonly userId: number; readonly session: string }
  /** `account`: the token of the link that finishes a sign-up. */
  | { readonly kind: 'finish'; readonly account: string }

interface Flow {
  readonly provider: string
  readonly purpose: Purpose
  readonly secrets: FlowSecrets
}

/** The identity that a provider has authenticated. */
export interface ProviderResult extends ProviderIdentity {
  readonly purpose: Exclude<Purpose, { readonly kind: 'link' }>
}

/** An identity that the owner of an account may link to it. */
export interface Offer extends ProviderIdentity {
  readonly userId: number
  readonly interaction: string | undefined
}

/** The cookies that contain a token: for a sign-in, and for an offer to link an identity. */
type Cookie = 'portico_provider' | 'portico_link'

const lifetimeSeconds: Readonly<Record<Cookie, number>> = { portico_provider: 600, portico_link: 1800 }

/** An empty token deletes the cookie. */
function setTokenCookie(
  { base: { issuer } }: RouteParts,
  { res }: Visit,
  cookie: Cookie,
  token: string,
): void {
  const maxAgeSeconds = token === '' ? 0 : lifetimeSeconds[cookie]
  setHostCookie(res, issuer, { name: cookie, value: token, maxAgeSeconds })
}

function tokenIn({ base: { issuer } }: RouteParts, visit: Visit, cookie: Cookie): string | undefined {
  return cookieOf(visit, hostCookieName(issuer, cookie))
}

/** The redirect URI that is registered at the provider: `/account/sign-in/{id}` of this service. */
export function redirectUriOf({ base: { issuer } }: RouteParts, { id }: Pick<Provider, 'id'>): string {
  return `${issuer}/account/sign-in/${id}/callback`
}

/**
 * Redirects the browser to the provider, or shows why that is not possible. `reauthenticates`: asks the provider to authenticate
 * the person again, even if they have a session there.
 */
export async function startFlow(
  parts: RouteParts,
  visit: Visit,
  provider: Provider,
  purpose: Purpose,
  reauthenticates = false,
): Promise<RouteReply> {
  const { base, throttleAddress } = parts
  const address = throttleAddress(visit.address)
  const seconds = await base.providerStarts.take(`start:${address}`, address)
  if (seconds !== undefined) return tooMany(seconds)
  const secrets: FlowSecrets = {
    state: randomSecret(),
    nonce: randomSecret(),
    verifier: randomSecret(),
    ...(reauthenticates && { reauthenticatedSince: Math.floor(base.now() / 1000) }),
  }
  const redirectUri = redirectUriOf(parts, provider)
  const url = await resultOrFault(() => provider.start({ redirectUri, secrets }))
  if (url instanceof ProviderFault) return faultReply(parts, provider, url)
  const flow: Flow = { provider: provider.id, purpose, secrets }
  const owner = purpose.kind === 'link' ? String(purpose.userId) : undefined
  setTokenCookie(parts, visit, 'portico_provider', await base.tokens.issue('ProviderSignIn', flow, { owner }))
  return redirect(url.href)
}

/** The result of the call, or the `ProviderFault` that it throws. */
export async function resultOrFault<T>(call: () => Promise<T>): Promise<T | ProviderFault> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof ProviderFault) return error
    throw error
  }
}

/**
 * Consumes the sign-in that this browser has started with this provider. Undefined if the callback does not belong to it: it
 * belongs to another browser or provider, has expired, or was used already.
 */
export async function redeemFlow(
  parts: RouteParts,
  visit: Visit,
  provider: Provider,
  state: string,
): Promise<Flow | undefined> {
  const { tokens } = parts.base
  const token = tokenIn(parts, visit, 'portico_provider')
  const flow = await tokens.peek<Flow>('ProviderSignIn', token)
  const isOfFlow = flow?.provider === provider.id && isSame(flow.secrets.state, state)
  return isOfFlow ? tokens.redeem<Flow>('ProviderSignIn', token) : undefined
}

export async function storeResult(parts: RouteParts, visit: Visit, result: ProviderResult): Promise<void> {
  setTokenCookie(parts, visit, 'portico_provider', await parts.base.tokens.issue('ProviderResult', result))
}

export async function storeOffer(parts: RouteParts, visit: Visit, offer: Offer): Promise<void> {
  const owner = String(offer.userId)
  setTokenCookie(
    parts,
    visit,
    'portico_link',
    await parts.base.tokens.issue('IdentityOffer', offer, { owner }),
  )
}

const tokenKinds = {
  portico_provider: 'ProviderResult',
  portico_link: 'IdentityOffer',
} as const satisfies Record<Cookie, TokenKind>

export function peekResult(parts: RouteParts, visit: Visit): Promise<ProviderResult | undefined> {
  return parts.base.tokens.peek(tokenKinds.portico_provider, tokenIn(parts, visit, 'portico_provider'))
}

export function peekOffer(parts: RouteParts, visit: Visit): Promise<Offer | undefined> {
  return parts.base.tokens.peek(tokenKinds.portico_link, tokenIn(parts, visit, 'portico_link'))
}

/** Consumes the result or the offer of the cookie. Returns whether this call consumed it. */
export async function redeemCookie(parts: RouteParts, visit: Visit, cookie: Cookie): Promise<boolean> {
  const payload = await parts.base.tokens.redeem(tokenKinds[cookie], tokenIn(parts, visit, cookie))
  setTokenCookie(parts, visit, cookie, '')
  return payload !== undefined
}

/** Throws NOT_FOUND if the settings have no provider with the id. */
export function providerOf({ providers }: RouteParts, id: string): Provider {
  const provider = providers.get(id)
  if (!provider) throw new ApiError('NOT_FOUND', 'This service does not offer this sign-in.')
  return provider
}

const backToSignIn = { href: '/account/sign-in', label: t('Back to sign-in') }

interface MessageOptions {
  readonly title: Text
  readonly paragraphs: readonly Text[]
  readonly link?: { readonly href: string; readonly label: Text }
  readonly status?: number
}

export function messageReply({
  title,
  paragraphs,
  link = backToSignIn,
  status = 400,
}: MessageOptions): RouteReply {
  return { page: messagePage({ title, paragraphs, link }), status }
}

const faults: Readonly<Record<FaultReason, (provider: string) => MessageOptions>> = {
  denied: provider => ({
    title: t('You are not signed in'),
    paragraphs: [t('{provider} reports that you cancelled the sign-in. Nothing was changed.', { provider })],
  }),
  unavailable: provider => ({
    title: t('{provider} does not answer', { provider }),
    paragraphs: [t('Try again in a few minutes, or sign in another way.')],
    status: 503,
  }),
  invalid: provider => ({
    title: t('{provider} could not sign you in', { provider }),
    paragraphs: [
      t('The response of {provider} is not valid, so you are not signed in. Try again.', { provider }),
      t('If this happens again, tell the operators of this service: their log contains the reason.'),
    ],
  }),
}

/** A page that explains the fault. It contains no text of the provider. */
export function faultReply(parts: RouteParts, { id, name }: Provider, fault: ProviderFault): RouteReply {
  parts.onProviderFault(id, fault)
  return messageReply(faults[fault.reason](name))
}

export function staleReply(): RouteReply {
  return messageReply({
    title: t('This sign-in is over'),
    paragraphs: [t('It took too long, was used already, or was started in another browser. Start again.')],
  })
}
