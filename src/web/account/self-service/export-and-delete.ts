/** `/account/profile/export` and `/account/profile/delete`: a copy of a user's data, and the deletion of the account. */

import { ApiError } from '../../../base/errors.ts'
import { exportedCollections, exportedData } from '../../../identity/accounts/self-service/data-export.ts'
import {
  blockingRelations,
  deleteOwnAccount,
  requireExportable,
} from '../../../identity/accounts/self-service/deletion.ts'
import { deletionPlan } from '../../../identity/accounts/self-service/own-data.ts'
import { titleOf } from '../../../identity/accounts/self-service/scope-choices.ts'
import { lastUsesOf } from '../../../identity/last-use.ts'
import { itemsText, t, translated } from '../../../identity/mail/page-texts.ts'
import { sessionPrincipal } from '../../../identity/session-principal.ts'
import { canonicalEmail } from '../../../model/fields/email.ts'
import { deletePage, exportPage } from '../../pages/account/profile.ts'
import { type FormFaults, noFaults } from '../../pages/components/form.ts'
import { messagePage } from '../../pages/frame/message.ts'
import { type RouteParts, type RouteReply, tooMany, type Viewer, type Visit } from '../context.ts'
import { requesterOf } from '../requester.ts'
import { isStillSignedIn } from '../security.ts'
import { protectedForm } from './self-service.ts'

function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString()
}

/** The members of the export besides the account and its items. */
async function accountDetails(
  { base, server, passkeys }: RouteParts,
  { user, session }: Viewer,
): Promise<object> {
  const [sessions, apps, userPasskeys, identities, keyUses] = await Promise.all([
    server.sessions(user.id, session.id),
    server.connectedApps(user.id),
    passkeys.list(user.id),
    base.identities.list(user.id),
    lastUsesOf(base.records, 'KeyUse', user.id),
  ])
  return {
    service: base.issuer,
    exported_at: isoTime(base.now()),
    address: {
      confirmed: await base.addresses.isVerified(user.id, user.email),
      waiting: (await base.addresses.pending(user.id)) ?? null,
    },
    sessions: sessions.map(({ signedInAt, usedAt, expiresAt, address, userAgent }) => ({
      ...{ address, user_agent: userAgent },
      signed_in_at: isoTime(signedInAt),
      last_used_at: isoTime(usedAt),
      expires_at: isoTime(expiresAt),
    })),
    passkeys: userPasskeys.map(({ name, createdAt }) => ({ name, created_at: isoTime(createdAt) })),
    linked_accounts: identities.map(({ provider, label, createdAt }) => ({
      provider,
      account: label,
      linked_at: isoTime(createdAt),
    })),
    api_key_uses: [...keyUses].map(([id, { at }]) => ({ api_key_id: Number(id), last_used_at: isoTime(at) })),
    one_time_codes: await base.codes.isOn(user.id),
    connected_apps: apps.map(({ app, scopes, allowedAt, usedAt }) => ({
      ...{ name: app.name, client_id: app.clientId, allowed_at: isoTime(allowedAt) },
      last_used_at: usedAt === undefined ? null : isoTime(usedAt),
      scopes: scopes.map(({ scope }) => scope),
    })),
  }
}

async function download(parts: RouteParts, visit: Visit, viewer: Viewer): Promise<RouteReply> {
  const { base, own } = parts
  const { user } = viewer
  const body = exportedData({
    ...{ model: base.model, run: own.run, userId: user.id },
    details: { ...(await accountDetails(parts, viewer)) },
    reader: async () => {
      if (!(await isStillSignedIn(parts, visit))) throw new ApiError('UNAUTHORIZED')
      return requireExportable(own.run, base.records, user.id)
    },
  })
  const file = `account-${user.id}-${isoTime(base.now()).slice(0, 10)}.json`
  const headers = [
    ...['Content-Type', 'application/json; charset=utf-8', 'Cache-Control', 'no-store'],
    ...['Content-Disposition', `attachment; filename="${file}"`, 'X-Content-Type-Options', 'nosniff'],
  ]
  return { status: 200, headers, body }
}

export function exportRoute(parts: RouteParts, visit: Visit, viewer: Viewer): Promise<RouteReply> {
  const { base } = parts
  const showExport = () => {
    const { access } = sessionPrincipal(viewer.user)
    const collections = exportedCollections(base.model, access).map(({ name }) => itemsText(name))
    return { page: exportPage({ menu: viewer.menu, collections }) }
  }
  return protectedForm(parts, visit, viewer, showExport, async () => {
    const seconds = await base.exports.take(`user:${viewer.user.id}`, parts.throttleAddress(visit.address))
    return seconds === undefined ? download(parts, visit, viewer) : tooMany(seconds)
  })
}

async function showDeletion(
  { base, frame }: RouteParts,
  viewer: Viewer,
  faults: FormFaults,
): Promise<RouteReply> {
  const blockers = await blockingRelations(base, viewer.user.id)
  const page = deletePage({
    ...{
      menu: viewer.menu,
      faults,
      email: viewer.user.email,
      service: frame.theme.name,
    },
    plan: deletionPlan(base.model),
    blocking: [...new Set(blockers.map(({ collection }) => titleOf(collection)))],
  })
  return { page }
}

async function deleteAndSignOut(parts: RouteParts, visit: Visit, viewer: Viewer): Promise<RouteReply> {
  const { base, server } = parts
  try {
    await deleteOwnAccount(base, viewer.user, requesterOf(visit))
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'CONFLICT') throw error
    return showDeletion(
      parts,
      viewer,
      new Map([['form', t('Your account was not deleted. {reason}', { reason: translated(error.message) })]]),
    )
  }
  await server.signOut(visit.req, visit.res)
  const page = messagePage({
    title: t('Your account is deleted'),
    paragraphs: [t('You are signed out everywhere. We have sent a message to the address of the account.')],
    icon: 'check',
  })
  return { page }
}

export async function deleteRoute(parts: RouteParts, visit: Visit, viewer: Viewer): Promise<RouteReply> {
  if (!parts.own.selfDeletion)
    throw new ApiError('NOT_FOUND', 'Users of this service cannot delete their accounts.')
  const showPage = () => showDeletion(parts, viewer, noFaults)
  return protectedForm(parts, visit, viewer, showPage, form => {
    if (canonicalEmail(form.text('address').trim()) === viewer.user.email)
      return deleteAndSignOut(parts, visit, viewer)
    return showDeletion(parts, viewer, new Map([['address', t('This is not the address of your account.')]]))
  })
}
