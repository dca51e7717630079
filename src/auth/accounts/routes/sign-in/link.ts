/** Linking an identity to an account: on `/account/link`, or started on `/account/security`. */
import type { Reply } from '../../../../call.ts'
import { pageReply } from '../../../pages/frame/reply.ts'
import { linkPage } from '../../../pages/sign-in/providers.ts'
import type { Linked } from '../../identities.ts'
import { notifyOfProtection } from '../../notifications.ts'
import { interactionPrefix } from '../../paths.ts'
import { accountOfAddress } from '../../sign-up/provider-sign-up.ts'
import { askerOf } from '../asker.ts'
import { type RouteParts, redirect, type SignedIn, signedIn, type Visit } from '../context.ts'
import { isFresh, postedForm } from '../own.ts'
import { isStillSignedIn } from '../security.ts'
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

/** Adds the identity to the account that is signed in. Undefined if it is linked; otherwise a page with the reason. */
async function link(
  parts: RouteParts,
  visit: Visit,
  who: SignedIn,
  linked: Linked,
): Promise<Reply | undefined> {
  const { base } = parts
  const { name } = providerOf(parts, linked.provider)
  const outcome = await base.identities.add({ userId: who.user.id, session: who.session.id }, linked)
  if (outcome === 'added') {
    if (!(await isStillSignedIn(parts, visit))) {
      await base.identities.forget(linked.profile)
      return staleReply(parts)
    }
    notifyOfProtection(base, who.user, 'provider-linked', askerOf(visit), name)
    return undefined
  }
  if (outcome === 'taken' && (await base.identities.find(linked.profile))?.userId === who.user.id)
    return undefined
  return messageReply(parts, {
    title: `${name} was not linked`,
    paragraphs: [
      outcome === 'full'
        ? 'Your account is linked to as many others as it can be. Unlink one first.'
        : `That account at ${name} signs in to another account here. Unlink it there first.`,
    ],
    link: { href: '/account/security', label: 'Security' },
  })
}

/** Finishes a link that was started on the security page, after the provider's response. */
export async function finishLink(
  parts: RouteParts,
  visit: Visit,
  { userId, session }: Extract<Purpose, { readonly kind: 'link' }>,
  linked: Linked,
): Promise<Reply> {
  const who = await signedIn(parts, visit)
  // The user who has started it must still be signed in, in the same session.
  if (!who || who.user.id !== userId || who.session.id !== session) return staleReply(parts)
  return (await link(parts, visit, who, linked)) ?? redirect('/account/security?done=provider-linked')
}

/** Asks whether to link an identity, after both the provider and the account have signed in the same person. */
export async function linkRoute(parts: RouteParts, visit: Visit, who: SignedIn): Promise<Reply> {
  const offer = await peekOffer(parts, visit)
  if (!offer || !parts.providers.has(offer.provider)) return redirect('/account/security')
  if (offer.userId !== who.user.id) return anotherAccount(parts, offer)
  if (!isFresh(parts, who)) return redirect(`/account/sign-in?confirm=yes&next=${linkPath}`)
  const { name } = providerOf(parts, offer.provider)
  if (visit.method !== 'POST') {
    const label = offer.profile.email ?? name
    return pageReply(
      parts.theme,
      linkPage({ csrf: who.menu.csrf, email: who.user.email, provider: name, label }),
    )
  }
  const form = postedForm(parts, visit)
  if (!(await redeemCookie(parts, visit, 'portico_link'))) return staleReply(parts)
  if (form.text('answer') !== 'link') return redirect('/account')
  return accept(parts, visit, who, offer)
}

async function accept(parts: RouteParts, visit: Visit, who: SignedIn, offer: Offer): Promise<Reply> {
  // The account's address may have changed since the offer was made.
  const known = await accountOfAddress(parts.base, offer.profile)
  if (known?.kind !== 'confirmed' || known.userId !== who.user.id) return staleReply(parts)
  const refused = await link(parts, visit, who, offer)
  if (refused) return refused
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

function anotherAccount(parts: RouteParts, { provider, profile }: Offer): Reply {
  const { name } = providerOf(parts, provider)
  return messageReply(parts, {
    title: 'You are signed in to another account',
    paragraphs: [
      `Only the account with the address ${profile.email} can be linked to yours at ${name} here. Sign in to it, or link ${name} to this account under Security.`,
    ],
    link: { href: `/account/sign-in?confirm=yes&next=${linkPath}`, label: 'Sign in to it' },
  })
}
