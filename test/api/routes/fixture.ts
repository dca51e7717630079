/** A service with routes, its log, and its database in memory. */

import type { CodeTools } from '../../../src/delivery/runs/context.ts'
import { generateKey } from '../../../src/identity/keys/key.ts'
import {
  action,
  anyone,
  checkModel,
  collection,
  integer,
  job,
  model,
  owner,
  relation,
  signedIn,
  string,
} from '../../../src/index.ts'
import type { LogicCaller, LogicDeclaration } from '../../../src/model/logic/logic.ts'
import type { RouteAnswer, RouteRequest, Verify } from '../../../src/model/types/route.ts'
import { type GivenSettings, readSettings } from '../../../src/server/config/config.ts'
import { start } from '../../../src/server/serve/serve.ts'
import type { Service } from '../../../src/server/serve/service.ts'
import { type Answer, type CallOptions, call } from '../../server/serve/service.ts'
import { secretKey } from '../../setups/postgres.ts'

/** The context of a route, for any model. */
export interface LooseContext extends CodeTools {
  readonly request: RouteRequest
  readonly input: Readonly<Record<string, unknown>>
  readonly caller: LogicCaller | null
  readonly verify: Verify
}

/** The code of a route whose types do not matter. */
export const code = (run: (context: LooseContext) => unknown) =>
  run as unknown as (context: object) => RouteAnswer

export interface RoutesFixture {
  readonly service: Service
  readonly url: string
  readonly port: number
  /** The administrator's key. */
  readonly key: string
  /** The log so far, parsed. */
  readonly log: Record<string, unknown>[]
  call(path: string, options?: CallOptions): Promise<Answer>
  /** Sends a body as it is. */
  send(path: string, body: string | Uint8Array, headers?: Readonly<Record<string, string>>): Promise<Answer>
  /** The bodies of all notes, by id. */
  notes(): Promise<readonly unknown[]>
  /** Waits up to two minutes for the condition. */
  until(condition: () => unknown, description: string): Promise<void>
}

export interface RoutesOptions {
  readonly settings?: GivenSettings
  readonly isDevelopment?: boolean
  readonly jobs?: LogicDeclaration['jobs']
  readonly actions?: LogicDeclaration['actions']
}

export const modelWith = (
  routes: LogicDeclaration['routes'],
  { jobs = {}, actions = {} }: Pick<RoutesOptions, 'jobs' | 'actions'> = {},
) =>
  model(
    {
      notes: collection({
        fields: {
          body: string({ max: 1000 }),
          n: integer({ default: 0 }),
          owner_id: relation('users', { optional: true, inverse: 'notes' }),
        },
        access: { read: owner('owner_id').or(anyone), create: owner('owner_id') },
      }),
    },
    {
      routes: routes ?? {},
      actions: {
        note: action({
          input: { body: string() },
          access: signedIn,
          run: async ({ input, data }) => void (await data.asSystem.notes.create({ body: input.body })),
        }),
        ...actions,
      },
      jobs: { echo: job({ run: () => undefined }), ...jobs },
    },
  )

/** Runs `use` with a service of these routes. */
export async function withRoutes(
  routes: LogicDeclaration['routes'],
  use: (fixture: RoutesFixture) => Promise<void>,
  { settings = {}, isDevelopment = false, ...logic }: RoutesOptions = {},
): Promise<void> {
  const key = generateKey()
  const log: Record<string, unknown>[] = []
  const read = readSettings({
    given: {
      ...{ port: 0, host: '127.0.0.1', logLevel: 'debug', adminApiKey: key, adminEmail: 'admin@example.com' },
      secretKeys: [secretKey],
      ...settings,
    },
  })
  const database = settings.database === undefined ? ':memory:' : read.database
  const service = await start(
    checkModel(modelWith(routes, logic)),
    { ...read, database },
    {
      logOutput: { write: (lines: string) => void log.push(...parsed(lines)) },
      devPages: isDevelopment
        ? { owns: () => false, answer: () => ({ status: 404, headers: [], body: null }) }
        : undefined,
    },
  )
  const { url } = service
  try {
    await use({
      ...{ service, url, port: Number(new URL(url).port), key, log },
      call: (path, options) => call(url + path, options),
      async send(path, body, headers = {}) {
        const response = await fetch(url + path, { method: 'POST', body: body as BodyInit, headers })
        const text = await response.text()
        const json = text.startsWith('{') ? JSON.parse(text) : {}
        return { status: response.status, headers: response.headers, text, code: json.error?.code, json }
      },
      notes: async () =>
        ((await service.data['notes']?.list({ sort: ['id'] })) ?? []).map(({ body }) => body),
      async until(condition, description) {
        const deadline = performance.now() + 120_000
        while (!(await condition())) {
          if (performance.now() > deadline) throw new Error(`never: ${description}`)
          await new Promise(resolve => setTimeout(resolve, 10))
        }
      },
    })
  } finally {
    await service.close()
  }
}

function parsed(lines: string): Record<string, unknown>[] {
  return lines
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
}
