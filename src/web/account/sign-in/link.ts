/** Linking an identity to an account: on `/account/link`, or started on `/account/security`. */

import type { ProviderIdentity } from '../../../identity/accounts/identities.ts'
import { notifyOfProtection } from '../../../identity/accounts/notifications.ts'
import { interactionPrefix } from '../../../identity/accounts/paths.ts'
import { accountWithAddress } from '../../../identity/accounts/sign-up/provider-sign-up.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import { linkPage } from '../../pages/sign-in/providers.ts'
import {
  findViewer,
  type RouteParts,
  type RouteReply,
  redirect,
  type Viewer,
  type Visit,
} from '../context.ts'
import { requesterOf } from '../requester.ts'
import { isStillSignedIn } from '../security.ts'
import { hasRecentSignIn, postedForm } from '../self-service/self-service.ts'
import {
  linkPath,
  messageReply,
  type Offer,
  type Purpose,
  peekOffer,
  providerOf,
  redeemCookie,
  staleReply,
  storeResult,
} from './provider-flow.ts'

/** Links the identity to the account of the viewer. Undefined if it is linked now; otherwise a page with the reason. */
async function link(
  parts: RouteParts,
  visit: Visit,
  viewer: Viewer,
  identity: ProviderIdentity,
): Promise<RouteReply | undefined> {
  const { base } = parts
  const { name } = providerOf(parts, identity.provider)
  const outcome = await base.identities.add({ userId: viewer.user.id, session: viewer.session.id }, identity)
  if (outcome === 'added') {
    if (!(await isStillSignedIn(parts, visit))) {
      await base.identities.forget(identity.profile)
      return staleReply()
    }
    notifyOfProtection(base, viewer.user, 'provider-linked', requesterOf(visit), name)
    return undefined
  }
  if (outcome === 'taken' && (await base.identities.find(identity.profile))?.userId === viewer.user.id)
    return undefined
  return messageReply({
    title: t('{provider} was not linked', { provider: name }),
    paragraphs: [
      outcome === 'full'
        ? t('Your account has the maximum number of linked accounts. Unlink one first.')
        : t('That account at {provider} is linked to another account here. Unlink it there first.', {
            provider: name,
          }),
    ],
    link: { href: '/account/security', label: t('Security') },
  })
}

/** Finishes a link that was started on the security page, after the provider's response. */
export async function finishLink(
  parts: RouteParts,
  visit: Visit,
  { userId, session }: Extract<Purpose, { readonly kind: 'link' }>,
  identity: ProviderIdentity,
): Promise<RouteReply> {
  const viewer = await findViewer(parts, visit)
  // The user who started the link must still be signed in, in the same session.
  if (!viewer || viewer.user.id !== userId || viewer.session.id !== session) return staleReply()
  return (await link(parts, visit, viewer, identity)) ?? redirect('/account/security?done=provider-linked')
}

/** Asks whether to link an identity, after the person has signed in with both the provider and the account. */
export async function linkRoute(parts: RouteParts, visit: Visit, viewer: Viewer): Promise<RouteReply> {
  const offer = await peekOffer(parts, visit)
  if (!offer || !parts.providers.has(offer.provider)) return redirect('/account/security')
  if (offer.userId !== viewer.user.id) return wrongAccountReply(parts, offer)
  if (!hasRecentSignIn(parts, viewer)) return redirect(`/account/sign-in?confirm=yes&next=${linkPath}`)
  const { name } = providerOf(parts, offer.provider)
  if (visit.method !== 'POST') {
    const label = offer.profile.email ?? name
    return { page: linkPage({ csrf: viewer.menu.csrf, email: viewer.user.email, provider: name, label }) }
  }
  const form = postedForm(parts, visit)
  if (!(await redeemCookie(parts, visit, 'portico_link'))) return staleReply()
  if (form.text('answer') !== 'link') return redirect('/account')
  return acceptOffer(parts, visit, viewer, offer)
}

async function acceptOffer(
  parts: RouteParts,
  visit: Visit,
  viewer: Viewer,
  offer: Offer,
): Promise<RouteReply> {
  // The account's address may have changed since the offer was made.
  const existing = await accountWithAddress(parts.base, offer.profile)
  if (existing?.kind !== 'confirmed' || existing.userId !== viewer.user.id) return staleReply()
  const refusal = await link(parts, visit, viewer, offer)
  if (refusal) return refusal
  const { provider, profile, interaction } = offer
  if (interaction === undefined) return redirect('/account/security?done=provider-linked')
  // An authorization request is pending: it continues with the identity that is linked now.
  await storeResult(parts, visit, {
    provider,
    profile,
    purpose: { kind: 'sign-in', interaction, confirms: false },
  })
  return redirect(`${interactionPrefix}${interaction}?page=provider`)
}

function wrongAccountReply(parts: RouteParts, { provider, profile }: Offer): RouteReply {
  const { name } = providerOf(parts, provider)
  return messageReply({
    title: t('You are signed in to another account'),
    paragraphs: [
      t(
        'Your account at {provider} can only be linked to the account with the address {email} here. Sign in to that account, or link {provider} to this account under Security.',
        { provider: name, email: profile.email },
      ),
    ],
    link: { href: `/account/sign-in?confirm=yes&next=${linkPath}`, label: t('Sign in to it') },
  })
}
