/** Whatever model, rows, caller and document: the reply is what graphql-js gives over a naive resolver. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parse, validate } from 'graphql'
import { createEngine } from '../../src/graphql/create-engine.ts'
import type { Engine } from '../../src/graphql/engine.ts'
import { createGuard } from '../../src/plan/guard.ts'
import type { Principal } from '../../src/principal.ts'
import { createRun } from '../../src/serve.ts'
import { type Insides, insides } from '../databases/inside.ts'
import { principals } from '../plan/random.ts'
import { naiveReply } from './naive.ts'
import { type Asked, randomDocument } from './random-document.ts'
import { type World, worlds } from './random-model.ts'

const WORLDS = Number(process.env.WORLDS ?? 50)
const DOCUMENTS = 12

const limits = { aliases: 10_000, depth: 100, cost: 1e9, tokens: 50_000 }
const context = {
  rateLimit: undefined,
  onFault(error: unknown) {
    throw error
  },
}

async function withEngine(
  { within }: Insides,
  { model, data }: World,
  use: (engine: Engine) => Promise<void>,
): Promise<void> {
  await within(model, data, async ({ store }) => {
    const run = createRun(createGuard(model), store)
    await use(createEngine({ model, run, hooks: new Map(), limits }))
  })
}

async function reply(engine: Engine, { source, variables }: Asked, who: Principal): Promise<unknown> {
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

interface Seen {
  documents: number
  errors: number
  nulled: number
  data: number
}

async function compare(engine: Engine, world: World, asked: Asked, who: Principal, seen: Seen) {
  const naive = naiveReply({ ...world, schema: engine.schema, who }, asked)
  const expected = JSON.stringify(naive)
  const question = `${asked.source}\n${JSON.stringify(asked.variables)}\n${who.access.key}`
  assert.equal(JSON.stringify(await reply(engine, asked, who)), expected, question)
  // Asked again, the answer comes from what is remembered.
  assert.equal(JSON.stringify(await reply(engine, asked, who)), expected, question)
  seen.documents++
  if (naive.errors.length > 0) seen.errors++
  if (naive.data === null) seen.nulled++
  else if (naive.errors.length === 0) seen.data++
}

for (const inside of insides) {
  test(`${inside.name}: the reply is the one that graphql-js gives over a naive resolver`, async () => {
    const seen = { documents: 0, errors: 0, nulled: 0, data: 0 }
    await fc.assert(
      fc.asyncProperty(
        worlds,
        fc.array(principals, { minLength: 2, maxLength: 3 }),
        fc.nat(),
        async (world, callers, seed) => {
          await withEngine(inside, world, async engine => {
            for (let i = 0; i < DOCUMENTS; i++) {
              const { source, sets } = randomDocument(engine.schema, seed + i * 7919)
              assert.deepEqual(validate(engine.schema, parse(source)), [])
              for (const variables of sets) {
                for (const who of callers) await compare(engine, world, { source, variables }, who, seen)
              }
            }
          })
        },
      ),
      { numRuns: inside.name === 'SQLite' ? WORLDS : Math.ceil(WORLDS / 3) },
    )
    // The generator must reach every kind of reply, or equality says little.
    assert.ok(seen.data > seen.documents / 10, JSON.stringify(seen))
    assert.ok(seen.errors > seen.documents / 10, JSON.stringify(seen))
    assert.ok(seen.nulled > seen.documents / 50, JSON.stringify(seen))
  })
}
