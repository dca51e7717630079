/** Writes of the built-in collections (users, API keys, apps and their secrets, webhooks) beyond the rules of the model. */

import type { Records } from '../base/records.ts'
import type { Plan, WriteShape } from '../engine/plan/plan.ts'
import { recentSignInRule, requireRecentSignIn } from '../engine/plan/recent-sign-in.ts'
import type { CreateHooks, Run, WriteRule } from '../engine/plan/run.ts'
import type { CredentialNotices } from './accounts/credential-notices.ts'
import { requireNoDeletion } from './accounts/self-service/deletion.ts'
import { findUser, type UserRow } from './accounts/users.ts'
import { keyRule } from './keys/key-bounds.ts'
import { keysAfterEnd } from './keys/keys-after-end.ts'
import { newKeyHook } from './keys/new-key.ts'
import { endingAccess } from './server/clients/app-end.ts'
import { newAppHook, newSecretHook, secretRule } from './server/clients/app-hooks.ts'
import type { AppSecrets } from './server/clients/app-secrets.ts'
import { appRule } from './server/clients/apps.ts'
import { keepingFirstParty } from './server/clients/first-party-apps.ts'
import { endWebhooks, pauseWebhooksOfUser } from './webhooks/grants.ts'
import {
  newWebhookHook,
  type WebhookRuleParts,
  webhookRule,
  webhookSignInRule,
} from './webhooks/write-rules.ts'

interface OwnCollections {
  /** For plans made of clients' requests. */
  readonly run: Run
  readonly hooks: CreateHooks
}

interface OwnCollectionsParts {
  readonly run: Run
  readonly records: Records
  readonly secrets: AppSecrets
  readonly maxKeysPerUser: number
  /** The name of the service. No app may have it. */
  readonly serviceName: string
  /** Handles writes that set an account's e-mail address: see `addressChanges`. */
  readonly writeAddress: Run['write']
  /** Called when an enabled account was disabled. */
  readonly onDisabled?: (user: UserRow) => void
  /** Sends mails after a new key or secret; omitted: none are sent. */
  readonly credentialNotices?: CredentialNotices
  readonly webhooks: Pick<WebhookRuleParts, 'types' | 'allowPrivate' | 'maxPerUser' | 'lastEvent'>
}

/** Wraps `run` with the rules for writes of the built-in collections. */
export function ownCollections(parts: OwnCollectionsParts): OwnCollections {
  const { run, records, secrets, maxKeysPerUser, serviceName, writeAddress, onDisabled, credentialNotices } =
    parts
  const webhooks = { run, records, ...parts.webhooks }
  const rules = new Map([
    [
      'api_keys',
      inOrder(recentSignInRule, keyRule(run), keyEndRule(run), credentialNotices?.get('api_keys')),
    ],
    ['oauth_apps', inOrder(recentSignInRule, appRule(run, serviceName))],
    [
      'oauth_app_secrets',
      inOrder(recentSignInRule, secretRule(run, secrets), credentialNotices?.get('oauth_app_secrets')),
    ],
    ['webhooks', inOrder(webhookSignInRule, webhookRule(webhooks))],
  ])
  const hooks = new Map([
    ['api_keys', newKeyHook(run, maxKeysPerUser)],
    ['oauth_apps', newAppHook(serviceName)],
    ['oauth_app_secrets', newSecretHook(run)],
    ['webhooks', newWebhookHook(webhooks)],
  ])
  const checked = keysAfterEnd(run, records)
  return { run: withRules({ run, records, checked, rules, writeAddress, onDisabled }), hooks }
}

/** For writes of `api_keys`: the webhooks of a deleted key are paused. */
function keyEndRule(run: Run): WriteRule {
  return ({ shape, args }) => {
    if (shape.kind !== 'delete') return undefined
    const grant = `key:${args[shape.id]}`
    // The key is deleted already. If pausing fails, the next delivery finds that the key no longer exists.
    return () => endWebhooks(run, grant).catch(() => undefined)
  }
}

function inOrder(...rules: readonly (WriteRule | undefined)[]): WriteRule {
  return async (plan, principal) => {
    const afterwards: (() => Promise<void>)[] = []
    for (const rule of rules) {
      const after = await rule?.(plan, principal)
      if (after) afterwards.push(after)
    }
    return async () => {
      for (const after of afterwards) await after()
    }
  }
}

function setsField({ shape }: Plan<WriteShape>, name: string): boolean {
  return shape.kind !== 'delete' && shape.set.some(({ field }) => field === name)
}

/** The id of the account whose `disabled` an update sets to this value. */
function userSet({ shape, args }: Plan<WriteShape>, disabled: boolean): number | undefined {
  if (shape.kind !== 'update') return undefined
  const param = shape.set.find(({ field }) => field === 'disabled')?.param
  return param !== undefined && args[param] === disabled ? Number(args[shape.id]) : undefined
}

interface RuledParts extends Pick<OwnCollectionsParts, 'run' | 'records' | 'writeAddress'> {
  /** Runs writes of collections with rules. */
  readonly checked: Run
  readonly rules: ReadonlyMap<string, WriteRule>
  readonly onDisabled: OwnCollectionsParts['onDisabled'] | undefined
}

function withRules({ run, records, checked, rules, writeAddress, onDisabled }: RuledParts): Run {
  const writeWithRules: Run['write'] = async (plan, principal, steps) => {
    const afterwards = await rules.get(plan.shape.collection)?.(plan, principal)
    const isApp = plan.shape.collection === 'oauth_apps'
    const appSteps = isApp ? keepingFirstParty(plan, principal, steps) : steps
    const written = checked.write(plan, principal, appSteps)
    const answer = await (isApp ? endingAccess(run, plan, principal, written) : written)
    await afterwards?.()
    return answer
  }
  const writeUser: Run['write'] = (plan, principal, steps) =>
    plan.shape.collection === 'users' && setsField(plan, 'email')
      ? writeAddress(plan, principal, steps)
      : run.write(plan, principal, steps)
  const writeRoleOrDisabled: Run['write'] = async (plan, principal, steps) => {
    if (setsField(plan, 'role')) requireRecentSignIn(principal)
    const enabled = userSet(plan, false)
    if (enabled !== undefined) await requireNoDeletion(records, enabled)
    const id = userSet(plan, true)
    const account = id === undefined ? undefined : await findUser(run, id)
    const answer = await writeUser(plan, principal, steps)
    if (account === undefined) return answer
    // If pausing fails, the next delivery finds that the account is disabled.
    await pauseWebhooksOfUser(run, account.id).catch(() => undefined)
    if (!account.disabled) onDisabled?.(account)
    return answer
  }
  return {
    ...run,
    // Hot path: synchronous.
    write(plan, principal, steps) {
      const { collection } = plan.shape
      if (rules.has(collection)) return writeWithRules(plan, principal, steps)
      if (collection === 'users' && (setsField(plan, 'disabled') || setsField(plan, 'role')))
        return writeRoleOrDisabled(plan, principal, steps)
      return writeUser(plan, principal, steps)
    },
  }
}
