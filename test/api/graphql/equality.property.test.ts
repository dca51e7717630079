/** The reply equals that of graphql-js with naive resolvers, for every model, rows, caller and document. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parse, validate } from 'graphql'
import type { Engine } from '../../../src/api/graphql/engine.ts'
import type { Principal } from '../../../src/base/principal.ts'
import { cases } from '../../cases.ts'
import { principals } from '../../engine/plan/random.ts'
import { seededStores } from '../../setups/databases/seeded-store.ts'
import { naiveReply } from './naive.ts'
import { type GeneratedOperation, randomDocument } from './random-document.ts'
import { type ModelAndData, modelsWithData } from './random-model.ts'
import { reply, withEngine } from './seeded-engine.ts'

const documentsPerRun = 12

interface Counts {
  documents: number
  errors: number
  nulled: number
  data: number
}

async function compare(
  engine: Engine,
  generated: ModelAndData,
  operation: GeneratedOperation,
  who: Principal,
  counts: Counts,
) {
  const naive = naiveReply({ ...generated, schema: engine.schema, who }, operation)
  const expected = JSON.stringify(naive)
  const question = `${operation.source}\n${JSON.stringify(operation.variables)}\n${who.access.key}`
  assert.equal(JSON.stringify(await reply(engine, operation, who)), expected, question)
  // The second reply is cached.
  assert.equal(JSON.stringify(await reply(engine, operation, who)), expected, question)
  counts.documents++
  if (naive.errors.length > 0) counts.errors++
  if (naive.data === null) counts.nulled++
  else if (naive.errors.length === 0) counts.data++
}

for (const seeded of seededStores) {
  test(`${seeded.name}: the reply equals that of graphql-js with naive resolvers`, async () => {
    const counts = { documents: 0, errors: 0, nulled: 0, data: 0 }
    await fc.assert(
      fc.asyncProperty(
        modelsWithData,
        fc.array(principals, { minLength: 2, maxLength: 3 }),
        fc.nat(),
        async (generated, callers, seed) => {
          await withEngine(seeded, generated, async ({ engine }) => {
            for (let i = 0; i < documentsPerRun; i++) {
              const { source, sets } = randomDocument(engine.schema, seed + i * 7919, generated.model)
              assert.deepEqual(validate(engine.schema, parse(source)), [])
              for (const variables of sets) {
                for (const who of callers)
                  await compare(engine, generated, { source, variables }, who, counts)
              }
            }
          })
        },
      ),
      cases(Math.ceil(24 * seeded.share), Math.ceil(10 * seeded.share)),
    )
    // Equality proves little unless the generator reaches every kind of reply.
    assert.ok(counts.data > counts.documents / 10, JSON.stringify(counts))
    assert.ok(counts.errors > counts.documents / 10, JSON.stringify(counts))
    assert.ok(counts.nulled > counts.documents / 50, JSON.stringify(counts))
  })
}
