/**
 * Notifies users of new credentials and connected apps: an attacker with a minute's access to an account can create one that
 * outlives a new password. Notices are sent by mail, in the background, and only a few a day, because programs may create many keys.
 */

import { allowedScopes } from '../../base/principal.ts'
import type { Records } from '../../base/records.ts'
import type { RateCounters } from '../../engine/cluster/cluster.ts'
import type { Plan, WriteShape } from '../../engine/plan/plan.ts'
import type { Run, WriteRule } from '../../engine/plan/run.ts'
import { itemShape, readItem } from '../../engine/plan/system-plans.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { Background } from '../background.ts'
import type { Mailer } from '../mail/mailer.ts'
import type { MailValues } from '../mail/values.ts'
import { createAddresses } from './addresses/addresses.ts'
import { type Allowance, credentialMails } from './sign-in/throttle.ts'
import { findUser } from './users.ts'

export interface CredentialNoticeParts {
  readonly run: Run
  readonly records: Records
  readonly counters: Pick<RateCounters, 'take'>
  readonly mail: Mailer
  /** The service's own address, for links. */
  readonly issuer: () => string
  readonly background: Background
}

type Notice =
  | readonly ['keyCreated', MailValues['keyCreated']]
  | readonly ['secretCreated', MailValues['secretCreated']]
  | readonly ['appConnected', MailValues['appConnected']]

/** Rules for the writes of these collections, by name: a mail follows each create by a user. */
export type CredentialNotices = ReadonlyMap<'api_keys' | 'oauth_app_secrets', WriteRule>

const appById = itemShape('oauth_apps', ['name'])

/** The value that a create assigns to a field. */
function assignedValue({ shape, args }: Plan<WriteShape>, name: string): JsonValue {
  if (shape.kind !== 'create') return null
  const assignment = [...shape.set, ...shape.computed].find(({ field }) => field === name)
  return assignment ? (args[assignment.param] ?? null) : null
}

async function mayNotify(counters: CredentialNoticeParts['counters'], userId: number): Promise<boolean> {
  const { attempts, windowSeconds }: Allowance = credentialMails
  return (await counters.take(`mail-credential:${userId}`, attempts, 1, windowSeconds)).granted
}

async function send(parts: CredentialNoticeParts, userId: number, [name, values]: Notice): Promise<void> {
  const { run, records, counters, mail } = parts
  const addresses = createAddresses(records)
  const user = await findUser(run, userId)
  // The user chooses the names in the mail, and must not have them sent to somebody else's address.
  if (!user || (await addresses.isUnproven(userId)) || !(await addresses.isTrusted(userId, user.email)))
    return
  if (!(await mayNotify(counters, userId))) return
  const receiver = { to: user.email, userId }
  if (name === 'keyCreated') await mail.sendTemplate(name, receiver, values)
  else if (name === 'appConnected') await mail.sendTemplate(name, receiver, values)
  else await mail.sendTemplate(name, receiver, values)
}

function keyNotice(plan: Plan<WriteShape>, issuer: string): Notice {
  const scopes = assignedValue(plan, 'scopes')
  return [
    'keyCreated',
    {
      key: String(assignedValue(plan, 'name') ?? ''),
      prefix: String(assignedValue(plan, 'prefix') ?? ''),
      mayAll: allowedScopes(Array.isArray(scopes) ? scopes.map(String) : null) === 'all',
      keysLink: `${issuer}/account/keys`,
      resetLink: `${issuer}/account/reset`,
    },
  ]
}

async function secretNotice(plan: Plan<WriteShape>, { run, issuer }: CredentialNoticeParts): Promise<Notice> {
  const appId = Number(assignedValue(plan, 'app_id'))
  const app = await readItem<{ readonly name: string }>(run, appById, appId)
  return [
    'secretCreated',
    {
      app: app?.name ?? '',
      prefix: String(assignedValue(plan, 'prefix') ?? ''),
      appLink: `${issuer()}/account/developer/${appId}`,
      resetLink: `${issuer()}/account/reset`,
    },
  ]
}

/** The rules that mail the owner of a new key or secret, by collection. They never refuse a write. */
export function credentialNotices(parts: CredentialNoticeParts): CredentialNotices {
  const ruleFor =
    (noticeOf: (plan: Plan<WriteShape>) => Notice | Promise<Notice>): WriteRule =>
    (plan, { userId }) => {
      if (plan.shape.kind !== 'create' || userId === null) return undefined
      return async () => parts.background(async () => send(parts, userId, await noticeOf(plan)))
    }
  return new Map([
    ['api_keys', ruleFor(plan => keyNotice(plan, parts.issuer()))],
    ['oauth_app_secrets', ruleFor(plan => secretNotice(plan, parts))],
  ])
}

/** Mails a user that an app got access to the account. `app`: its name. */
export function notifyOfApp(parts: CredentialNoticeParts, userId: number, app: string): void {
  const links = { appsLink: `${parts.issuer()}/account/apps`, resetLink: `${parts.issuer()}/account/reset` }
  parts.background(() => send(parts, userId, ['appConnected', { app, ...links }]))
}
