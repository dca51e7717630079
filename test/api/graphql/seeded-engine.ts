/** A GraphQL engine on a database with the rows of a random model, and its replies. */
import assert from 'node:assert/strict'
import type { Engine } from '../../../src/api/graphql/engine.ts'
import { createEngine } from '../../../src/api/graphql/execute/create-engine.ts'
import type { Principal } from '../../../src/base/principal.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import { createRun } from '../../../src/server/serve/store.ts'
import { requestTime } from '../../engine/plan/reference.ts'
import type { OpenSeededStore, SeededStore } from '../../setups/databases/seeded-store.ts'
import type { GeneratedOperation } from './random-document.ts'
import type { ModelAndData } from './random-model.ts'

const limits = { aliases: 10_000, depth: 100, cost: 1e9, tokens: 50_000 }
const context = {
  rateLimit: undefined,
  onFault(error: unknown) {
    throw error
  },
}

export interface SeededEngine {
  readonly engine: Engine
  readonly run: Run
  readonly seeded: OpenSeededStore
}

/** The clock of the database is fixed at `requestTime`. */
export async function withEngine(
  { within }: SeededStore,
  { model, data }: ModelAndData,
  use: (seededEngine: SeededEngine) => Promise<void>,
): Promise<void> {
  const now = () => Date.parse(requestTime)
  await within(
    model,
    data,
    async seeded => {
      const run = createRun(createGuard(model), seeded.store)
      await use({ engine: createEngine({ model, run, hooks: new Map(), limits }), run, seeded })
    },
    now,
  )
}

export interface Reply {
  readonly errors: readonly { readonly path?: unknown; readonly extensions?: { readonly code?: string } }[]
  readonly data: unknown
}

export async function reply(
  engine: Engine,
  { source, variables }: GeneratedOperation,
  who: Principal,
): Promise<Reply> {
  const prepared = engine.prepare(source, undefined)
  assert.equal(prepared.outcome, 'prepared', `${source}\n${'text' in prepared ? prepared.text : ''}`)
  if (prepared.outcome !== 'prepared') throw new Error('not prepared')
  const bound = engine.bind(prepared, variables)
  assert.equal(bound.outcome, 'bound', `${source}\n${'text' in bound ? bound.text : ''}`)
  if (bound.outcome !== 'bound') throw new Error('not bound')
  const { text } = await engine.execute(bound, who, context)
  const { errors = [], data } = JSON.parse(text)
  return { errors, data }
}
