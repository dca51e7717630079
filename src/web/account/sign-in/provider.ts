/** `/account/sign-in/{provider}`, its callback, and the steps after a provider's response. */

import { tokenForm } from '../../../identity/accounts/link-tokens.ts'
import { interactionPrefix } from '../../../identity/accounts/paths.ts'
import { nameFrom } from '../../../identity/accounts/providers/claims.ts'
import { ProviderFault } from '../../../identity/accounts/providers/provider.ts'
import { signInByProvider } from '../../../identity/accounts/sign-in/sign-in.ts'
import {
  accountFromProfile,
  accountWithAddress,
  type EnteredAccount,
  type ExistingAccount,
  finishSignUpByProvider,
  type NewAccountAnswer,
  signUpByProvider,
} from '../../../identity/accounts/sign-up/provider-sign-up.ts'
import { signUpIsOff } from '../../../identity/accounts/sign-up/sign-up.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import { type FormFaults, noFaults } from '../../pages/components/form.ts'
import { completePage } from '../../pages/sign-in/providers.ts'
import {
  methodNotAllowed,
  type RouteParts,
  type RouteReply,
  redirect,
  safeNext,
  tooMany,
  type Visit,
} from '../context.ts'
import { readForm, readQuery } from '../form-body.ts'
import { requesterOf } from '../requester.ts'
import { postedForm } from '../self-service/self-service.ts'
import { finishLink } from './link.ts'
import {
  faultReply,
  linkPath,
  messageReply,
  type ProviderResult,
  type Purpose,
  peekResult,
  providerOf,
  redeemCookie,
  redeemFlow,
  redirectUriOf,
  resultOrFault,
  staleReply,
  startFlow,
  storeOffer,
  storeResult,
} from './provider-flow.ts'
import {
  accountContext,
  answersIn,
  finishSignIn,
  linkSent,
  type SignInContext,
  signUpInputs,
} from './sign-in.ts'

const prefix = '/account/sign-in/'
const pathPattern = /^\/account\/sign-in\/([a-z][a-z0-9-]{0,29})(\/callback)?$/

export function isProviderPath(path: string): boolean {
  return path.startsWith(prefix)
}

const uidPattern = /^[A-Za-z0-9_-]{1,100}$/

function validOrUndefined(pattern: RegExp, text: string | undefined): string | undefined {
  return text !== undefined && pattern.test(text) ? text : undefined
}

export async function providerRoute(parts: RouteParts, visit: Visit): Promise<RouteReply> {
  const [, id = '', callback] = pathPattern.exec(visit.path) ?? []
  providerOf(parts, id)
  if (callback !== undefined) return callbackRoute(parts, visit, id)
  if (visit.method !== 'POST') throw methodNotAllowed('POST')
  const form = postedForm(parts, visit)
  const account = validOrUndefined(tokenForm, form.optional('account'))
  const confirms = form.text('confirm') === 'yes'
  // The form alone is not decisive: a person at someone else's signed-in browser can edit it.
  const reauthenticates =
    confirms ||
    form.text('reauthenticate') === 'yes' ||
    (await parts.server.session(visit.req, visit.res)) !== undefined
  const purpose: Purpose =
    account !== undefined
      ? { kind: 'finish', account }
      : {
          kind: 'sign-in',
          next: safeNext(form.optional('next')),
          interaction: validOrUndefined(uidPattern, form.optional('interaction')),
          confirms,
        }
  return startFlow(parts, visit, providerOf(parts, id), purpose, reauthenticates)
}

async function callbackRoute(parts: RouteParts, visit: Visit, id: string): Promise<RouteReply> {
  const provider = providerOf(parts, id)
  if (visit.method === 'POST') return postedCallback(visit)
  // Not HEAD: a callback works once.
  if (visit.method !== 'GET') throw methodNotAllowed('GET, POST')
  const query = readQuery(visit)
  const flow = await redeemFlow(parts, visit, provider, query.text('state'))
  if (!flow) return staleReply()
  const callback = new URL(redirectUriOf(parts, provider))
  for (const name of responseParameters) {
    const value = query.optional(name)
    if (value !== undefined) callback.searchParams.set(name, value)
  }
  const profile = await resultOrFault(() => provider.finish(callback, flow.secrets))
  if (profile instanceof ProviderFault) return faultReply(parts, provider, profile)
  const address = parts.throttleAddress(visit.address)
  parts.base.providerStarts.succeed(`start:${address}`, address)
  const { purpose } = flow
  if (purpose.kind === 'link') return finishLink(parts, visit, purpose, { provider: id, profile })
  const name = profile.name ?? postedName(query.text('user'))
  await storeResult(parts, visit, { provider: id, profile: { ...profile, name }, purpose })
  return redirect(continuePath(purpose))
}

/** RFC 6749, 4.1.2, and RFC 9207. */
const responseParameters = ['code', 'state', 'iss', 'error', 'error_description']
const maxParameterCharacters = 2000

/**
 * Apple's response is a POST from its own site, so the browser sends no cookies with it (`SameSite=Lax`). After a redirect to
 * the same address with a query, it does. Any caller can post here, because nothing is changed.
 */
function postedCallback(visit: Visit): RouteReply {
  const form = readForm(visit)
  const pairs = [...responseParameters, 'user'].flatMap(name => {
    const value = form.optional(name)?.slice(0, maxParameterCharacters)
    return value === undefined ? [] : [[name, value]]
  })
  return redirect(`${visit.path}?${new URLSearchParams(pairs)}`)
}

/** Apple sends the name once, outside of the ID token. Anybody could have sent it, so it is only the default of a form. */
function postedName(user: string): string | undefined {
  try {
    const { firstName, lastName } = JSON.parse(user).name
    return nameFrom([firstName, lastName].filter(part => typeof part === 'string').join(' '))
  } catch {
    return undefined
  }
}

function continuePath(purpose: ProviderResult['purpose']): string {
  const interaction = purpose.kind === 'sign-in' ? purpose.interaction : undefined
  const page = interaction === undefined ? '/account/sign-in' : interactionPrefix + interaction
  return `${page}?page=provider`
}

/** Whether the page continues with a provider's result. */
export function isContinuing(visit: Visit): boolean {
  return readQuery(visit).text('page') === 'provider'
}

/** `/account/sign-in?page=provider`. */
export async function continueAccountRoute(parts: RouteParts, visit: Visit): Promise<RouteReply> {
  const result = await peekResult(parts, visit)
  const purpose = result?.purpose
  const next = purpose?.kind === 'sign-in' ? purpose.next : undefined
  return continueRoute(parts, visit, accountContext(parts, visit, next), undefined)
}

/** Signs in with the result that belongs to this browser, or asks for missing input. `interaction`: the uid of a pending one. */
export async function continueRoute(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  interaction: string | undefined,
): Promise<RouteReply> {
  const result = await peekResult(parts, visit)
  const purpose = result?.purpose
  const pendingUid = purpose?.kind === 'sign-in' ? purpose.interaction : undefined
  if (!result || pendingUid !== interaction || !parts.providers.has(result.provider)) return staleReply()
  const signIn = await signInByProvider(parts.base, result.profile)
  if (signIn) {
    if (!(await redeemCookie(parts, visit, 'portico_provider'))) return staleReply()
    return finishSignIn(parts, visit, context, signIn)
  }
  if (purpose?.kind === 'finish') return finishAccount(parts, visit, context, result, purpose.account)
  if (purpose?.kind === 'sign-in' && purpose.confirms) return notLinkedReply(parts, result)
  return signUp(parts, visit, context, result)
}

function notLinkedReply(parts: RouteParts, { provider }: ProviderResult): RouteReply {
  const { name } = providerOf(parts, provider)
  return messageReply({
    title: t('This account at {provider} is not linked', { provider: name }),
    paragraphs: [
      t('Confirm that it is you in a way that your account has, then link this one under Security.'),
    ],
  })
}

async function finishAccount(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  result: ProviderResult,
  account: string,
): Promise<RouteReply> {
  if (!(await redeemCookie(parts, visit, 'portico_provider'))) return staleReply()
  const answer = await finishSignUpByProvider(parts.base, account, result)
  if (answer?.kind === 'created' || answer?.kind === 'taken')
    return signInToNewAccount(parts, visit, context, result)
  if (answer?.kind === 'faults') {
    const link = { href: '/account/sign-up', label: t('Create an account') }
    return messageReply({
      title: t('Your account could not be created'),
      paragraphs: [...answer.faults.values()],
      link,
    })
  }
  return messageReply({
    title: t('This account is for somebody else'),
    paragraphs: [
      t(
        'The link has expired, was used already, or belongs to another account at the provider. Open it again, and sign in with the account that you used to request it.',
      ),
    ],
  })
}

/** Continues with an identity that no account has yet. */
async function signUp(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  result: ProviderResult,
): Promise<RouteReply> {
  const { base } = parts
  const existing = await accountWithAddress(base, result.profile)
  if (existing) return handleExistingAccount(parts, visit, result, existing)
  if (base.signUp === 'off') return signUpOffReply(parts, result)
  if (visit.method === 'POST') return handleForm(parts, visit, context, result)
  const account = accountFromProfile(base, result.profile)
  if (account === undefined) return showForm(parts, visit, context, result, { faults: noFaults })
  return createAccount(parts, visit, context, result, account)
}

function signUpOffReply(parts: RouteParts, { provider }: ProviderResult): RouteReply {
  const { name } = providerOf(parts, provider)
  return messageReply({
    title: t('You have no account here'),
    paragraphs: [
      t('{provider} has signed you in, but your account there is not linked to an account here.', {
        provider: name,
      }),
      signUpIsOff,
    ],
    status: 403,
  })
}

/** An account has the address. The provider's claim alone never gives access to it. */
async function handleExistingAccount(
  parts: RouteParts,
  visit: Visit,
  result: ProviderResult,
  existing: ExistingAccount,
): Promise<RouteReply> {
  const { provider, profile, purpose } = result
  if (existing.kind === 'confirmed') {
    await redeemCookie(parts, visit, 'portico_provider')
    const interaction = purpose.kind === 'sign-in' ? purpose.interaction : undefined
    await storeOffer(parts, visit, { provider, profile, userId: existing.userId, interaction })
    return redirect(`/account/sign-in?next=${linkPath}`)
  }
  const { name } = providerOf(parts, provider)
  return messageReply({
    title: t('An account with your address exists already'),
    paragraphs: [
      t('Its address was never confirmed, so it may belong to somebody else, and nothing is linked to it.'),
      t(
        'If it is yours, sign in to it, confirm the address, and link {provider} under Security. If you cannot sign in, set a new password with a link that we send to your address: then the account is yours.',
        { provider: name },
      ),
    ],
    link: { href: '/account/reset', label: t('Set a new password') },
  })
}

async function handleForm(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  result: ProviderResult,
): Promise<RouteReply> {
  const form = postedForm(parts, visit)
  const answers = answersIn(parts, form)
  return createAccount(parts, visit, context, result, {
    name: form.text('name'),
    email: form.text('email'),
    answers,
  })
}

async function createAccount(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  result: ProviderResult,
  entered: EnteredAccount,
): Promise<RouteReply> {
  const address = parts.throttleAddress(visit.address)
  const requester = requesterOf(visit)
  const answer: NewAccountAnswer = await signUpByProvider(parts.base, result, entered, address, requester)
  switch (answer.kind) {
    case 'faults':
      return showForm(parts, visit, context, result, { faults: answer.faults, entered })
    case 'throttled':
      return tooMany(answer.seconds)
    case 'sent':
      await redeemCookie(parts, visit, 'portico_provider')
      return linkSent(parts, visit, context, answer)
    case 'created':
    case 'taken':
      await redeemCookie(parts, visit, 'portico_provider')
      return signInToNewAccount(parts, visit, context, result)
  }
}

/** Signs in with an identity that was just stored, by this request or by a concurrent one. */
async function signInToNewAccount(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  { profile }: ProviderResult,
): Promise<RouteReply> {
  const answer = await signInByProvider(parts.base, profile)
  return answer ? finishSignIn(parts, visit, context, answer) : staleReply()
}

interface CompletionForm {
  readonly faults: FormFaults
  readonly entered?: EnteredAccount
}

function showForm(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  { provider, profile }: ProviderResult,
  { faults, entered }: CompletionForm,
): RouteReply {
  const { inputs, inputFaults } = signUpInputs(parts, entered?.answers)
  const page = completePage({
    action: `${context.action}?page=provider`,
    csrf: parts.csrf.token(visit, visit.res),
    faults: inputFaults(faults),
    provider: providerOf(parts, provider).name,
    name: entered?.name ?? profile.name,
    email: profile.emailVerified ? profile.email : (entered?.email ?? profile.email),
    isProven: profile.emailVerified,
    app: context.app,
    modelFields: inputs,
  })
  return { page, leadsTo: context.leadsTo }
}
