/** The account services of a real database, with a clock that tests advance and mail that they can read. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { system } from '../../../src/base/principal.ts'
import { memoryCounters } from '../../../src/engine/cluster/memory-counters.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import { updateShape } from '../../../src/engine/plan/system-plans.ts'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import {
  type AccountBase,
  createAccountBase,
  type SignUpMode,
} from '../../../src/identity/accounts/accounts.ts'
import { confirmAddress } from '../../../src/identity/accounts/addresses/verification.ts'
import { createBackground } from '../../../src/identity/background.ts'
import { createKey, createUser } from '../../../src/identity/bootstrap.ts'
import { createCatalogue } from '../../../src/identity/mail/catalogue.ts'
import type { MailMessage } from '../../../src/identity/mail/mail.ts'
import { createMailer } from '../../../src/identity/mail/mailer.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { Declaration } from '../../../src/model/declaration.ts'
import { createRun } from '../../../src/server/serve/store.ts'
import blog from '../../models/blog.ts'
import { cheapHash } from '../cheap-hash.ts'

export interface Fixture {
  readonly base: AccountBase
  readonly sent: MailMessage[]
  /** Whose sessions were ended, and which session was kept. */
  readonly revoked: (readonly [userId: number, except: string | undefined])[]
  readonly faults: unknown[]
  /** Advances the clock. */
  advance(milliseconds: number): void
  user(email: string, password: string): Promise<number>
  key(userId: number): Promise<string>
  /** The token in the newest message, once all messages are sent. */
  token(): Promise<string>
}

export interface FixtureOptions {
  readonly signUp?: SignUpMode
  readonly mailFails?: boolean
  readonly declaration?: Declaration
}

export async function withFixture(
  { signUp = 'open', mailFails = false, declaration = blog }: FixtureOptions,
  use: (fixture: Fixture) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-accounts-'))
  let time = Date.UTC(2026, 0, 1)
  const now = () => time
  const model = checkModel(declaration)
  const store = openSqlite(model, { file: join(folder, 'test.db'), now })
  const run = createRun(createGuard(model), store)
  const sent: MailMessage[] = []
  const revoked: [number, string | undefined][] = []
  const faults: unknown[] = []
  const base = createAccountBase({
    model,
    run,
    records: store.records,
    counters: memoryCounters({ now }),
    mail: createMailer({
      mail: {
        delivers: true,
        async send(message) {
          if (mailFails) throw new Error('no route to the mail server')
          sent.push(message)
        },
      },
      records: store.records,
      theme: { name: 'Example', logo: undefined, colour: '#1f5fbf' },
      catalogue: createCatalogue(),
      language: 'en',
      log: { error: fields => void faults.push(fields) },
      now,
    }),
    issuer: 'https://id.example.com',
    name: 'Example',
    signUp,
    revokeAll: async (userId, except) => void revoked.push([userId, except]),
    revokeOthers: async (userId, session) => void revoked.push([userId, session]),
    work: createBackground(error => faults.push(error)),
    now,
  })
  try {
    await use({
      base,
      sent,
      revoked,
      faults,
      advance(milliseconds) {
        time += milliseconds
      },
      user: (email, password) => createUser(run, { name: 'Ada', email }, password, cheapHash),
      key: userId => createKey(run, userId, { name: 'a key', scopes: ['*'] }),
      async token() {
        await base.idle()
        return /[?&](?:token|account)=([\w-]+)/.exec(sent.at(-1)?.text ?? '')?.[1] ?? ''
      },
    })
  } finally {
    await base.idle()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

export const minuteMs = 60_000

/** Whether the link confirms the account’s address when its owner opens it. */
export async function confirms(base: AccountBase, token: string, userId: number): Promise<boolean> {
  const answer = await confirmAddress(base, {
    token,
    userId,
    session: 'a session',
    password: '',
    hasRecentSignIn: false,
    address: '192.0.2.1',
  })
  return answer.kind === 'done'
}

const updateHash = updateShape('users', ['password_hash'])

/** Replaces a password hash, whatever the present one is. */
export async function storePasswordHash(run: Run, id: number, passwordHash: string): Promise<void> {
  await run.write({ shape: updateHash, args: [id, passwordHash] }, system)
}
