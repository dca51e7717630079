/** When users are asked something (OpenID Connect Core 1.0, 3.1.2.3 and 3.1.2.4), so that no request asks without end. */
import type { Context, InteractionPolicy, PromptCheck, PromptChecks } from 'oidc-provider'
import { errors, interactionPolicy } from './library.ts'

type Check = PromptCheck['check']

/** Puts `change` of a check in the check's place. */
function change(checks: PromptChecks, reason: string, changed: (check: Check) => Check): void {
  const found = checks.get(reason)
  if (!found) throw new Error(`oidc-provider has no check ${reason}.`)
  found.check = changed(found.check)
}

/** Whoever has just signed in is not asked to sign in as somebody else (3.1.2.1, `id_token_hint`; 3.1.2.2). */
function failingAfterLogin(check: Check): Check {
  return async ctx => {
    const isNeeded = await check(ctx)
    if (isNeeded && ctx.oidc.result?.login) {
      throw new errors.LoginRequired('the user who is asked for has not signed in')
    }
    return isNeeded
  }
}

/** 5.5.1.1: to sign in again changes nothing, since there is no `acr` here. */
function failingAtOnce(check: Check): Check {
  return async ctx => {
    if (await check(ctx)) {
      throw new errors.UnmetAuthenticationRequirements('none of the requested acr values can be reached')
    }
    return false
  }
}

/** Whoever has just signed in has chosen their account. */
function mustChoose({ oidc }: Context): boolean {
  return oidc.promptPending('select_account') && !oidc.result?.login
}

/** Sign in, choose the account, consent: in this order. */
export function promptPolicy(): InteractionPolicy {
  const policy = interactionPolicy.base()
  const { checks: login } = policy.get('login') ?? {}
  if (!login) throw new Error('oidc-provider has no prompt for signing in.')
  for (const reason of ['id_token_hint', 'claims_id_token_sub_value']) {
    change(login, reason, failingAfterLogin)
  }
  for (const reason of ['essential_acr', 'essential_acrs']) change(login, reason, failingAtOnce)
  const choice = new interactionPolicy.Prompt({ name: 'select_account', requestable: true })
  change(choice.checks, 'select_account_prompt', () => mustChoose)
  policy.add(choice, 1)
  return policy
}
