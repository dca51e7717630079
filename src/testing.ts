/** `portico/test`: a service in memory, for tests of a model's rules and logic. */
import type { Mail, Message } from './auth/mail.ts'
import { type GivenSettings, readSettings } from './config.ts'
import { createData } from './logic/create-data.ts'
import type { DataOf } from './logic/data.ts'
import { checkModel } from './model/check.ts'
import type { Declaration } from './model/declaration.ts'
import { createLog } from './observability/log.ts'
import { anonymous } from './principal.ts'
import type { UserReference } from './serve/data.ts'
import { open } from './serve.ts'
import { SteppedClock, type TestClock } from './testing/clock.ts'
import { sendInMemory, type TestResponse } from './testing/requests.ts'
import { TestUsers } from './testing/users.ts'

export type { Message, TestClock, TestResponse }

export interface TestServiceOptions {
  /** The time at which the clock stands. The machine's, if left out. */
  readonly now?: string | Date
  /** As for `serve`. The environment is not read. */
  readonly settings?: GivenSettings
}

export interface RequestOptions {
  /** Who sends it. Left out: nobody is signed in. */
  readonly as?: UserReference
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON, a string as it is. */
  readonly body?: unknown
}

const inMemory = ':memory:'
/** Nothing encrypted with it outlives the process. */
const secretKey = 'the-key-of-services-that-are-tested-in-memory'

/** Starts a service in memory. Rejects with a `ModelError` or a `SettingsError` that lists every fault. */
export async function testService(declaration: Declaration, options: TestServiceOptions = {}) {
  const model = checkModel(declaration)
  const clock = new SteppedClock(options.now ?? new Date())
  const mails: Message[] = []
  const settings = testSettings(options.settings)
  const simulation = { now: () => clock.ms, mail: collecting(mails) }
  const opened = await open(model, settings, createLog(settings), {
    ...{ listen: false, background: false, simulation },
  })
  const { service, http, data, runner } = opened
  const users = new TestUsers(opened.run)
  const request = async (line: string, { as, headers, body }: RequestOptions = {}): Promise<TestResponse> => {
    const [method = '', path = ''] = line.split(' ')
    const key = as === undefined ? {} : { authorization: `Bearer ${await users.keyOf(idOf(as))}` }
    return sendInMemory(http.server, { method, path, headers: { ...key, ...headers }, body })
  }
  return {
    clock: clock as TestClock,
    mails: mails as readonly Message[],
    asSystem: service.data as DataOf,
    anonymous: createData(data, anonymous('127.0.0.1')),
    as: (user: UserReference): DataOf => service.data.as(user),
    request,
    /** Runs reactions and due jobs, until nothing is left that can be done before the clock goes on. */
    settled: () => runner.settled(),
    close: () => service.close(),
  }
}

function idOf(user: UserReference): number {
  return typeof user === 'number' ? user : user.id
}

function testSettings(given: GivenSettings = {}) {
  const settings = readSettings({
    given: {
      logLevel: 'error',
      rateLimit: 'off',
      secretKeys: [secretKey],
      baseUrl: 'http://localhost:3000',
      ...given,
    },
  })
  return given.database === undefined ? { ...settings, database: inMemory } : settings
}

function collecting(mails: Message[]): Mail {
  return {
    delivers: true,
    async send(message) {
      mails.push(message)
    },
  }
}
