/** `/oauth/interaction/{uid}`: the pages of an authorization request. */
import { ApiError } from '../../../base/errors.ts'
import { interactionPrefix } from '../../../identity/accounts/paths.ts'
import { findUser, type UserRow } from '../../../identity/accounts/users.ts'
import { scopeGroups } from '../../../identity/server/consent/choices.ts'
import type { Interaction, NextPath } from '../../../identity/server/server.ts'
import { noFaults } from '../../pages/components/form.ts'
import { consentPage } from '../../pages/oauth/consent.ts'
import { selectAccountPage } from '../../pages/oauth/select-account.ts'
import { type RouteParts, type RouteReply, redirect, type Visit, writeFor } from '../context.ts'
import { type FormBody, readQuery } from '../form-body.ts'
import { postedForm } from '../self-service/self-service.ts'
import { continueRoute, isContinuing } from './provider.ts'
import {
  handleSignIn,
  handleSignUp,
  openSignUp,
  type SignInContext,
  type SignUpContext,
  showSignIn,
} from './sign-in.ts'

/**
 * Chromium applies `form-action` to every redirect that follows, including those of the app's own site, so all addresses with
 * the scheme of the redirect URI are allowed. The redirect URI itself was checked before.
 */
export function schemeOf(destination: string | undefined): string | undefined {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(destination ?? '')?.[1]?.toLowerCase()
  if (scheme === undefined || scheme === 'javascript' || scheme === 'data') return undefined
  return scheme === 'http' ? 'http: https:' : `${scheme}:`
}

function pathOf({ uid }: Interaction): string {
  return `${interactionPrefix}${encodeURIComponent(uid)}`
}

function signInContext(parts: RouteParts, visit: Visit, interaction: Interaction): SignInContext {
  const action = pathOf(interaction)
  return {
    action,
    signUp: `${action}?page=sign-up`,
    app: interaction.app.name,
    email: interaction.loginHint,
    next: undefined,
    note: undefined,
    leadsTo: schemeOf(interaction.destination),
    start: {
      interaction: interaction.uid,
      reauthenticate: interaction.requiresAuthentication ? 'yes' : undefined,
    },
    finish: ({ kind: _kind, ...authentication }) =>
      parts.server.finishLogin(visit.req, visit.res, { ...authentication, address: visit.address }),
  }
}

async function login(parts: RouteParts, visit: Visit, interaction: Interaction): Promise<RouteReply> {
  const context = signInContext(parts, visit, interaction)
  if (visit.method !== 'POST') return showSignIn(parts, visit, context, { faults: noFaults })
  const form = postedForm(parts, visit)
  return handleSignIn(parts, visit, context, form)
}

async function newAccount(parts: RouteParts, visit: Visit, interaction: Interaction): Promise<RouteReply> {
  const signIn = signInContext(parts, visit, interaction)
  const { signUp: action, app, leadsTo } = signIn
  const context: SignUpContext = { action, signIn, app, leadsTo }
  if (visit.method !== 'POST') return openSignUp(parts, visit, context)
  const form = postedForm(parts, visit)
  return handleSignUp(parts, visit, context, form)
}

/** Handles the user's answer: `accept`, which calls `onAccept`, a denial, or the choice of another account. */
async function handleAnswer(
  parts: RouteParts,
  visit: Visit,
  accept: string,
  onAccept: (form: FormBody) => Promise<NextPath>,
): Promise<RouteReply> {
  const { server } = parts
  const form = postedForm(parts, visit)
  switch (form.text('answer')) {
    case 'deny':
      return redirect(await server.deny(visit.req, visit.res))
    case 'other-account':
      return redirect(await server.switchAccount(visit.req, visit.res))
    case accept:
      return redirect(await onAccept(form))
    default:
      throw new ApiError('BAD_REQUEST', `\`answer\` must be \`${accept}\`, \`other-account\` or \`deny\`.`)
  }
}

/** `prompt=select_account`: the current account, or another one. */
async function selectAccount(parts: RouteParts, visit: Visit, interaction: Interaction): Promise<RouteReply> {
  const { server, csrf } = parts
  if (visit.method === 'POST') {
    return handleAnswer(parts, visit, 'continue', () => server.keepAccount(visit.req, visit.res))
  }
  const { email } = await userOf(parts, interaction)
  const page = selectAccountPage({
    action: pathOf(interaction),
    csrf: csrf.token(visit, visit.res),
    app: interaction.app,
    email,
  })
  return {
    page,
    leadsTo: schemeOf(interaction.destination),
    images: [interaction.app.logoUri],
  }
}

/** The user of the interaction. Throws NOT_FOUND if there is none. */
async function userOf({ base }: RouteParts, { userId }: Interaction): Promise<UserRow> {
  const user = userId === undefined ? undefined : await findUser(base.run, userId)
  if (user) return user
  throw new ApiError('NOT_FOUND', 'This request has ended. Go back to the app and start again.')
}

async function consent(parts: RouteParts, visit: Visit, interaction: Interaction): Promise<RouteReply> {
  const { server, csrf, frame } = parts
  if (visit.method === 'POST') {
    return handleAnswer(parts, visit, 'allow', form =>
      server.finishConsent(visit.req, visit.res, grantedScopes(interaction, form.list('scope'))),
    )
  }
  const user = await userOf(parts, interaction)
  const page = consentPage({
    theme: frame.theme,
    action: pathOf(interaction),
    csrf: csrf.token(visit, visit.res),
    interaction,
    groups: scopeGroups(parts.base.model, interaction, user),
    email: user.email,
  })
  return {
    page,
    leadsTo: schemeOf(interaction.destination),
    images: [interaction.app.logoUri],
  }
}

/** The checked scopes. Throws BAD_REQUEST if the app has not requested one of them: then the form is not one of ours. */
function grantedScopes({ scopes }: Interaction, checked: readonly string[]): readonly string[] {
  const requested = new Set(scopes.map(({ scope }) => scope))
  const isValid = new Set(checked).size === checked.length && checked.every(scope => requested.has(scope))
  if (isValid) return checked
  throw new ApiError('BAD_REQUEST', 'The form may contain only scopes that the app has requested, each once.')
}

/** `uid`: the rest of the path. `?page=sign-up` shows the sign-up form in place of the sign-in form. */
export async function interactionRoute(parts: RouteParts, visit: Visit, uid: string): Promise<RouteReply> {
  const interaction = await parts.server.interaction(visit.req, visit.res)
  if (interaction.uid !== uid) {
    throw new ApiError('NOT_FOUND', 'This request has ended. Go back to the app and start again.')
  }
  visit.userId = interaction.userId ?? null
  if (interaction.userId !== undefined) await writeFor(parts, visit, interaction.userId)
  if (interaction.prompt === 'select_account') return selectAccount(parts, visit, interaction)
  if (interaction.prompt === 'consent') return consent(parts, visit, interaction)
  if (isContinuing(visit)) return continueRoute(parts, visit, signInContext(parts, visit, interaction), uid)
  const isNew = readQuery(visit).text('page') === 'sign-up'
  return isNew ? newAccount(parts, visit, interaction) : login(parts, visit, interaction)
}
