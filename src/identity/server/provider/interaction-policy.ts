/** When users are prompted (OpenID Connect Core 1.0, 3.1.2.3 and 3.1.2.4). No prompt may lead to itself again. */
import type { Context, InteractionPolicy, PromptCheck, PromptChecks } from 'oidc-provider'
import { needsNoConsent } from '../consent/first-party.ts'
import { needsRecentSignIn } from '../consent/lasting-scopes.ts'
import { errors, interactionPolicy } from './load.ts'

type Check = PromptCheck['check']

/** Why a user who is signed in has to sign in again. */
export const recentSignInReason = 'recent_sign_in'

/** Replaces a check with `replace(check)`. */
function replaceCheck(checks: PromptChecks, reason: string, replace: (check: Check) => Check): void {
  const existing = checks.get(reason)
  if (!existing) throw new Error(`oidc-provider has no check ${reason}.`)
  existing.check = replace(existing.check)
}

/** A user who has just signed in is not prompted to sign in as someone else (3.1.2.1, `id_token_hint`; 3.1.2.2). */
function failingAfterLogin(check: Check): Check {
  return async ctx => {
    const isNeeded = await check(ctx)
    if (isNeeded && ctx.oidc.result?.login) {
      throw new errors.LoginRequired('the requested user has not signed in')
    }
    return isNeeded
  }
}

/** 5.5.1.1: no sign-in here gives an `acr`, so prompting again would not help. */
function failingAtOnce(check: Check): Check {
  return async ctx => {
    if (await check(ctx)) {
      throw new errors.UnmetAuthenticationRequirements('none of the requested acr values is supported')
    }
    return false
  }
}

/** A session is kept while its account is disabled, but does not count. */
function orWithoutAccount(check: Check): Check {
  return async ctx => (await check(ctx)) || (ctx.oidc.session.accountId !== undefined && !ctx.oidc.account)
}

/** A user who has just signed in has chosen the account. */
function mustChoose({ oidc }: Context): boolean {
  return oidc.promptPending('select_account') && !oidc.result?.login
}

/** First-party apps need no consent, except where RFC 8252, 8.6, requires it. */
function unlessFirstParty(check: Check): Check {
  return async ctx => !needsNoConsent(ctx) && (await check(ctx))
}

/** Prompts in this order: sign-in, choice of the account, consent. */
export function promptPolicy(): InteractionPolicy {
  const policy = interactionPolicy.base()
  const { checks: login } = policy.get('login') ?? {}
  if (!login) throw new Error('oidc-provider has no prompt for signing in.')
  for (const reason of ['id_token_hint', 'claims_id_token_sub_value']) {
    replaceCheck(login, reason, failingAfterLogin)
  }
  for (const reason of ['essential_acr', 'essential_acrs']) replaceCheck(login, reason, failingAtOnce)
  replaceCheck(login, 'no_session', orWithoutAccount)
  const { Check } = interactionPolicy
  login.add(
    new Check(recentSignInReason, 'a recent sign-in is required', 'login_required', needsRecentSignIn),
  )
  const choice = new interactionPolicy.Prompt({ name: 'select_account', requestable: true })
  replaceCheck(choice.checks, 'select_account_prompt', () => mustChoose)
  policy.add(choice, 1)
  const { checks: consent } = policy.get('consent') ?? {}
  if (!consent) throw new Error('oidc-provider has no prompt for consent.')
  for (const reason of ['consent_prompt', 'native_client_prompt'])
    replaceCheck(consent, reason, unlessFirstParty)
  return policy
}
