/**
 * Notifies users of new credentials: an intruder who uses an account for a minute can create one that outlives a new password.
 * Notices are sent by mail, in the background, and only a few a day: programs may create keys all the time.
 */

import type { RateCounters } from '../../cluster/cluster.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { Plan, WriteShape } from '../../plan/plan.ts'
import type { Run, WriteRule } from '../../plan/run.ts'
import { itemShape, readItem } from '../../plan/system-plans.ts'
import { allowedScopes } from '../../principal.ts'
import type { Records } from '../../records.ts'
import type { Background } from '../background.ts'
import type { Mailer } from '../mail/mailer.ts'
import type { MailValues } from '../mail/values.ts'
import { createAddresses } from './addresses.ts'
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

/** For writes of these collections, by name: each create by a user is followed by a mail. */
export type CredentialNotices = ReadonlyMap<'api_keys' | 'oauth_app_secrets', WriteRule>

const appById = itemShape('oauth_apps', ['name'])

/** The value that a create gives a field. */
function assigned({ shape, args }: Plan<WriteShape>, name: string): JsonValue {
  if (shape.kind !== 'create') return null
  const found = [...shape.set, ...shape.computed].find(({ field }) => field === name)
  return found ? (args[found.param] ?? null) : null
}

async function mayNotify(counters: CredentialNoticeParts['counters'], userId: number): Promise<boolean> {
  const { attempts, window }: Allowance = credentialMails
  return (await counters.take(`mail-credential:${userId}`, attempts, 1, window)).granted
}

async function send(parts: CredentialNoticeParts, userId: number, [name, values]: Notice): Promise<void> {
  const { run, records, counters, mail } = parts
  const addresses = createAddresses(records)
  const user = await findUser(run, userId)
  // The names in the mail are chosen by the user, who must not send them to somebody else's address.
  if (!user || (await addresses.isUnproven(userId)) || !(await addresses.isTrusted(userId, user.email)))
    return
  if (!(await mayNotify(counters, userId))) return
  const receiver = { to: user.email, userId }
  if (name === 'keyCreated') await mail.sendTemplate(name, receiver, values)
  else await mail.sendTemplate(name, receiver, values)
}

function keyNotice(plan: Plan<WriteShape>, issuer: string): Notice {
  const scopes = assigned(plan, 'scopes')
  return [
    'keyCreated',
    {
      key: String(assigned(plan, 'name') ?? ''),
      prefix: String(assigned(plan, 'prefix') ?? ''),
      mayAll: allowedScopes(Array.isArray(scopes) ? scopes.map(String) : null) === 'all',
      keysLink: `${issuer}/account/keys`,
      resetLink: `${issuer}/account/reset`,
    },
  ]
}

async function secretNotice(plan: Plan<WriteShape>, { run, issuer }: CredentialNoticeParts): Promise<Notice> {
  const appId = Number(assigned(plan, 'app_id'))
  const app = await readItem<{ readonly name: string }>(run, appById, appId)
  return [
    'secretCreated',
    {
      app: app?.name ?? '',
      prefix: String(assigned(plan, 'prefix') ?? ''),
      appLink: `${issuer()}/account/developer/${appId}`,
      resetLink: `${issuer()}/account/reset`,
    },
  ]
}

export function credentialNotices(parts: CredentialNoticeParts): CredentialNotices {
  const after =
    (noticeOf: (plan: Plan<WriteShape>) => Notice | Promise<Notice>): WriteRule =>
    (plan, { userId }) => {
      if (plan.shape.kind !== 'create' || userId === null) return undefined
      return async () => parts.background(async () => send(parts, userId, await noticeOf(plan)))
    }
  return new Map([
    ['api_keys', after(plan => keyNotice(plan, parts.issuer()))],
    ['oauth_app_secrets', after(plan => secretNotice(plan, parts))],
  ])
}
