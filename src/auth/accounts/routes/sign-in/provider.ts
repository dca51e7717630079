/** `/account/sign-in/{provider}`, its callback, and what follows a provider's response. */
import type { Reply } from '../../../../call.ts'
import { type Faults, noFaults } from '../../../pages/components/form.ts'
import { pageReply } from '../../../pages/frame/reply.ts'
import { completePage } from '../../../pages/sign-in/providers.ts'
import { interactionPrefix } from '../../paths.ts'
import { nameFrom } from '../../providers/claims.ts'
import { ProviderFault } from '../../providers/provider.ts'
import { signInByProvider } from '../../sign-in.ts'
import {
  accountOfAddress,
  type Entered,
  enoughFor,
  finishByProvider,
  type KnownAddress,
  type NewAccountAnswer,
  signUpByProvider,
} from '../../sign-up/provider-sign-up.ts'
import { askerOf } from '../asker.ts'
import { methodNotAllowed, type RouteParts, redirect, safeNext, tooMany, type Visit } from '../context.ts'
import { readForm, readQuery } from '../form-body.ts'
import { postedForm } from '../own.ts'
import { accountContext, answersIn, askedFields, linkSent, type SignInContext, settled } from '../sign-in.ts'
import { finishLink } from './link.ts'
import {
  caught,
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
  staleReply,
  startFlow,
  storeOffer,
  storeResult,
} from './provider-flow.ts'

const prefix = '/account/sign-in/'
const paths = /^\/account\/sign-in\/([a-z][a-z0-9-]{0,29})(\/callback)?$/

export function isProviderPath(path: string): boolean {
  return path.startsWith(prefix)
}

const uidForm = /^[A-Za-z0-9_-]{1,100}$/
const tokenForm = /^[A-Za-z0-9_-]{20,128}$/

function valid(form: RegExp, text: string | undefined): string | undefined {
  return text !== undefined && form.test(text) ? text : undefined
}

export async function providerRoute(parts: RouteParts, visit: Visit): Promise<Reply> {
  const [, id = '', callback] = paths.exec(visit.path) ?? []
  providerOf(parts, id)
  if (callback !== undefined) return callbackRoute(parts, visit, id)
  if (visit.method !== 'POST') throw methodNotAllowed('POST')
  const form = postedForm(parts, visit)
  const account = valid(tokenForm, form.optional('account'))
  const confirms = form.text('confirm') === 'yes'
  // The form alone is not enough: a person at someone else's signed-in browser can edit it.
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
          interaction: valid(uidForm, form.optional('interaction')),
          confirms,
        }
  return startFlow(parts, visit, providerOf(parts, id), purpose, reauthenticates)
}

async function callbackRoute(parts: RouteParts, visit: Visit, id: string): Promise<Reply> {
  const provider = providerOf(parts, id)
  if (visit.method === 'POST') return postedCallback(visit)
  // Not HEAD: a callback works once.
  if (visit.method !== 'GET') throw methodNotAllowed('GET, POST')
  const query = readQuery(visit)
  const flow = await redeemFlow(parts, visit, provider, query.text('state'))
  if (!flow) return staleReply(parts)
  const callback = new URL(redirectUriOf(parts, provider))
  for (const name of answerParameters) {
    const value = query.optional(name)
    if (value !== undefined) callback.searchParams.set(name, value)
  }
  const profile = await caught(() => provider.finish(callback, flow.secrets))
  if (profile instanceof ProviderFault) return faultReply(parts, provider, profile)
  const { address } = visit
  parts.base.providerStarts.succeed(`start:${parts.throttleAddress(address)}`, parts.throttleAddress(address))
  const { purpose } = flow
  if (purpose.kind === 'link') return finishLink(parts, visit, purpose, { provider: id, profile })
  const named = { ...profile, name: profile.name ?? postedName(query.text('user')) }
  await storeResult(parts, visit, { provider: id, profile: named, purpose })
  return redirect(continuePath(purpose))
}

/** RFC 6749, 4.1.2, and RFC 9207. */
const answerParameters = ['code', 'state', 'iss', 'error', 'error_description']
const maxParameterCharacters = 2000

/**
 * Apple's response is a POST from its own site, so the browser sends no cookies with it (`SameSite=Lax`). After a redirect to
 * the same address with a query, it does. Anybody may post here, because nothing is changed.
 */
function postedCallback(visit: Visit): Reply {
  const form = readForm(visit)
  const pairs = [...answerParameters, 'user'].flatMap(name => {
    const value = form.optional(name)?.slice(0, maxParameterCharacters)
    return value === undefined ? [] : [[name, value]]
  })
  return redirect(`${visit.path}?${new URLSearchParams(pairs)}`)
}

/** Apple sends the name once, outside of the ID token. Anybody could have sent it, so it is only a default for the form. */
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
  const start = interaction === undefined ? '/account/sign-in' : interactionPrefix + interaction
  return `${start}?page=provider`
}

/** Whether the page continues with a provider's result. */
export function isContinuing(visit: Visit): boolean {
  return readQuery(visit).text('page') === 'provider'
}

/** `/account/sign-in?page=provider`. */
export async function continueAccountRoute(parts: RouteParts, visit: Visit): Promise<Reply> {
  const result = await peekResult(parts, visit)
  const purpose = result?.purpose
  const next = purpose?.kind === 'sign-in' ? purpose.next : undefined
  return continueRoute(parts, visit, accountContext(parts, visit, next), undefined)
}

/** Signs in with the result that belongs to this browser, or asks for what is missing. `interaction`: the uid of a pending one. */
export async function continueRoute(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  interaction: string | undefined,
): Promise<Reply> {
  const result = await peekResult(parts, visit)
  const purpose = result?.purpose
  const waiting = purpose?.kind === 'sign-in' ? purpose.interaction : undefined
  if (!result || waiting !== interaction || !parts.providers.has(result.provider)) return staleReply(parts)
  const known = await signInByProvider(parts.base, result.profile)
  if (known) {
    if (!(await redeemCookie(parts, visit, 'portico_provider'))) return staleReply(parts)
    return settled(parts, visit, context, known)
  }
  if (purpose?.kind === 'finish') return finishAccount(parts, visit, context, result, purpose.account)
  if (purpose?.kind === 'sign-in' && purpose.confirms) return notLinked(parts, result)
  return newcomer(parts, visit, context, result)
}

function notLinked(parts: RouteParts, { provider }: ProviderResult): Reply {
  const { name } = providerOf(parts, provider)
  return messageReply(parts, {
    title: `This account at ${name} is not linked`,
    paragraphs: ['Confirm that it is you by a way that your account has, then link it under Security.'],
  })
}

async function finishAccount(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  result: ProviderResult,
  account: string,
): Promise<Reply> {
  if (!(await redeemCookie(parts, visit, 'portico_provider'))) return staleReply(parts)
  const made = await finishByProvider(parts.base, account, result)
  if (made?.kind === 'made' || made?.kind === 'taken') return enter(parts, visit, context, result)
  if (made?.kind === 'faults') {
    const link = { href: '/account/sign-up', label: 'Create an account' }
    return messageReply(parts, {
      title: 'Your account could not be made',
      paragraphs: [...made.faults.values()],
      link,
    })
  }
  return messageReply(parts, {
    title: 'This account is for somebody else',
    paragraphs: [
      'The link is too old, was used already, or belongs to another account at the provider. Open it again, and sign in as you did when you asked for it.',
    ],
  })
}

/** No account has this identity yet. */
async function newcomer(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  result: ProviderResult,
): Promise<Reply> {
  const { base } = parts
  const known = await accountOfAddress(base, result.profile)
  if (known) return knownAddress(parts, visit, result, known)
  if (base.signUp === 'off') return closed(parts, result)
  if (visit.method === 'POST') return posted(parts, visit, context, result)
  const enough = enoughFor(base, result.profile)
  if (enough === undefined) return ask(parts, visit, context, result, { faults: noFaults })
  return create(parts, visit, context, result, enough)
}

function closed(parts: RouteParts, { provider }: ProviderResult): Reply {
  const { name } = providerOf(parts, provider)
  return messageReply(parts, {
    title: 'You have no account here',
    paragraphs: [
      `${name} has signed you in, but no account here is linked to yours there. Accounts are made by the administrator.`,
    ],
    status: 403,
  })
}

/** An account has the address. The provider's claim alone never gives access to it. */
async function knownAddress(
  parts: RouteParts,
  visit: Visit,
  result: ProviderResult,
  known: KnownAddress,
): Promise<Reply> {
  const { provider, profile, purpose } = result
  if (known.kind === 'confirmed') {
    await redeemCookie(parts, visit, 'portico_provider')
    const interaction = purpose.kind === 'sign-in' ? purpose.interaction : undefined
    await storeOffer(parts, visit, { provider, profile, userId: known.userId, interaction })
    return redirect(`/account/sign-in?next=${linkPath}`)
  }
  const { name } = providerOf(parts, provider)
  return messageReply(parts, {
    title: 'There is an account with your address',
    paragraphs: [
      'Its address was never confirmed, so it may be somebody else’s, and nothing is linked to it.',
      `If it is yours, sign in to it, confirm the address, and link ${name} under Security. If you cannot sign in, set a new password by a link to your address: that takes the account over.`,
    ],
    link: { href: '/account/reset', label: 'Set a new password' },
  })
}

async function posted(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  result: ProviderResult,
): Promise<Reply> {
  const form = postedForm(parts, visit)
  const answers = answersIn(parts, form)
  return create(parts, visit, context, result, {
    name: form.text('name'),
    email: form.text('email'),
    answers,
  })
}

async function create(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  result: ProviderResult,
  entered: Entered,
): Promise<Reply> {
  const address = parts.throttleAddress(visit.address)
  const asker = askerOf(visit)
  const answer: NewAccountAnswer = await signUpByProvider(parts.base, result, entered, address, asker)
  switch (answer.kind) {
    case 'faults':
      return ask(parts, visit, context, result, { faults: answer.faults, entered })
    case 'throttled':
      return tooMany(parts.theme, answer.seconds)
    case 'sent':
      await redeemCookie(parts, visit, 'portico_provider')
      return linkSent(parts, context.action)
    case 'made':
    case 'taken':
      await redeemCookie(parts, visit, 'portico_provider')
      return enter(parts, visit, context, result)
  }
}

/** Signs in with the identity that was just stored: of two concurrent first sign-ins, one has created the account. */
async function enter(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  { profile }: ProviderResult,
): Promise<Reply> {
  const proven = await signInByProvider(parts.base, profile)
  return proven ? settled(parts, visit, context, proven) : staleReply(parts)
}

interface CompletionForm {
  readonly faults: Faults
  readonly entered?: Entered
}

function ask(
  parts: RouteParts,
  visit: Visit,
  context: SignInContext,
  { provider, profile }: ProviderResult,
  { faults, entered }: CompletionForm,
): Reply {
  const { asked, inForm } = askedFields(parts, entered?.answers)
  const page = completePage({
    action: `${context.action}?page=provider`,
    csrf: parts.csrf.token(visit, visit.res),
    faults: inForm(faults),
    provider: providerOf(parts, provider).name,
    name: entered?.name ?? profile.name,
    email: profile.emailVerified ? profile.email : (entered?.email ?? profile.email),
    isProven: profile.emailVerified,
    app: context.app,
    asked,
  })
  return pageReply(parts.theme, page, { status: faults.size > 0 ? 400 : 200, leadsTo: context.leadsTo })
}
