/** `portico/test`: a service in memory, for tests of a model's rules and logic. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from './client/types/client.ts'
import { createClient } from './client.ts'
import type { Mail, MailMessage } from './identity/mail/mail.ts'
import { checkModel } from './model/check/check.ts'
import type { Declaration } from './model/declaration.ts'
import type { Duration } from './model/fields/marker.ts'
import type { CreateInput, Item, ProgramActions, SystemProgramData } from './model/types/types.ts'
import { type GivenSettings, readSettings, type Settings } from './server/config/config.ts'
import { createLog } from './server/observability/log.ts'
import { presentUser } from './server/serve/data.ts'
import { open } from './server/serve/serve.ts'
import type { OpenService } from './server/serve/service.ts'
import type { UserReference } from './server/serve/typed.ts'
import { SteppedClock } from './tools/testing/clock.ts'
import { fetchInMemory, isOfClient, sendInMemory, type TestResponse } from './tools/testing/requests.ts'
import { TestUsers } from './tools/testing/users.ts'

export type { TestResponse }

/** A mail that the service has sent. */
export type Message = MailMessage

/** Options of `testService`. */
export interface TestServiceOptions {
  /** The time of the clock. Default: the machine's. */
  readonly now?: string | Date
  /** As for `serve`. The environment is not read. */
  readonly settings?: GivenSettings
}

/** Options of `TestService.request`. */
export interface RequestOptions {
  /** The caller. Default: an anonymous one. */
  readonly as?: UserReference
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON; a string is sent unchanged. */
  readonly body?: unknown
}

/** Stands still until it is set. Rules, defaults, `prepare`, `check`, actions, reactions and jobs use its time. */
export interface TestClock {
  /** ISO 8601 UTC. */
  now(): string
  /** Throws a `RangeError` for an invalid time. */
  set(time: string | Date): void
  advance(duration: Duration): void
}

/** A service in memory. It listens on no port; `close` ends it. */
export interface TestService<M extends Declaration> {
  readonly clock: TestClock
  /** The mails that would have been sent, the oldest first. */
  readonly mails: readonly Message[]
  readonly users: {
    /**
     * Creates a user without a password, whose hash would take long. Name and address have defaults. The address counts as
     * confirmed unless `confirmed` is false. Rejects with VALIDATION_FAILED if the values do not fit the model.
     */
    create(
      values?: Partial<CreateInput<M, 'users'>>,
      options?: { readonly confirmed?: boolean },
    ): Promise<Item<M, 'users'>>
  }
  /**
   * `portico/client` as a user, by a key with every scope. Calls reject with an `ApiError` with a `code`, e.g. `FORBIDDEN`,
   * `NOT_FOUND` or `VALIDATION_FAILED`, and `explain`: which rule, scope or field refused the call.
   */
  as(user: UserReference): Client<M>
  /** As an anonymous caller. */
  readonly anonymous: Client<M>
  /** As the service itself, to which no rule applies. */
  readonly asSystem: SystemProgramData<M>
  /** The actions as the service itself: `actions.book({ … })`, with the item's id first where it has `on`. */
  readonly actions: ProgramActions<M>
  /** Runs all reactions and due jobs, including those that they start. A failed run waits for its retry. */
  settled(): Promise<void>
  /** Sends an HTTP request in memory: `request('PATCH /api/v1/tasks/1', { as: ada, body: { title: 'New' } })`. */
  request(line: string, options?: RequestOptions): Promise<TestResponse>
  close(): Promise<void>
}

/** Starts a service in memory. Rejects with a `ModelError` or a `SettingsError` that lists every fault. */
export async function testService<const M extends Declaration>(
  declaration: M,
  options: TestServiceOptions = {},
): Promise<TestService<M>> {
  const clock = new SteppedClock(options.now ?? new Date())
  const mails: MailMessage[] = []
  const model = checkModel(declaration)
  const folder = model.collections.has('uploads') ? mkdtempSync(join(tmpdir(), 'portico-files-')) : undefined
  const settings = testSettings({ ...(folder !== undefined && { 'files.url': folder }), ...options.settings })
  const opened = await open(model, settings, createLog(settings), {
    listen: false,
    background: false,
    // The answers to `request` are those of a service in production.
    explainsRefusals: ({ req }) => isOfClient(req),
    simulation: { clock, mail: collectMails(mails) },
  })
  const { service, run, reactions, http } = opened
  const users = new TestUsers(run, opened.records, service.data)
  // In memory there are no transient failures.
  const clientOptions = { baseUrl: 'http://localhost', fetch: fetchInMemory(http.server), retries: 0 }
  return {
    clock: {
      now: () => new Date(clock.now()).toISOString(),
      set: time => clock.set(time),
      advance: duration => clock.advance(duration),
    },
    mails,
    users: {
      create: async (values = {}, { confirmed = true } = {}) =>
        (await users.create(values, confirmed)) as unknown as Item<M, 'users'>,
    },
    as: user =>
      createClient<M>({
        ...clientOptions,
        token: async () => {
          await presentUser(run, user)
          return users.keyOf(idOf(user))
        },
      }),
    anonymous: createClient<M>(clientOptions),
    actions: service.actions as ProgramActions<M>,
    asSystem: service.data as unknown as SystemProgramData<M>,
    settled: () => reactions.runner.settled(),
    request: (line, options) => request(opened, users, line, options),
    async close() {
      await service.close()
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function request(
  { http }: OpenService,
  users: TestUsers,
  line: string,
  { as, headers, body }: RequestOptions = {},
): Promise<TestResponse> {
  const [method = '', path = ''] = line.split(' ')
  const key: Readonly<Record<string, string>> =
    as === undefined ? {} : { authorization: `Bearer ${await users.keyOf(idOf(as))}` }
  return sendInMemory(http.server, { method, path, headers: { ...key, ...headers }, body })
}

function idOf(user: UserReference): number {
  return typeof user === 'object' ? user.id : user
}

/** Encrypts the secrets of databases in memory, which end with the process. */
const secretKey = 'the-key-of-services-that-are-tested-in-memory'

function testSettings(overrides: GivenSettings = {}): Settings {
  const settings = readSettings({
    given: {
      logLevel: 'warn',
      rateLimit: 'off',
      secretKeys: [secretKey],
      baseUrl: 'http://localhost:3000',
      ...overrides,
    },
  })
  return overrides.database === undefined ? { ...settings, database: ':memory:' } : settings
}

function collectMails(mails: MailMessage[]): Mail {
  return {
    delivers: true,
    async send(message) {
      mails.push(message)
    },
  }
}
