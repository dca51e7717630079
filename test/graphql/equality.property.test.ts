/** Whatever model, rows, caller and document: the reply is what graphql-js gives over a naive resolver. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parse, validate } from 'graphql'
import type { Engine } from '../../src/graphql/engine.ts'
import type { Principal } from '../../src/principal.ts'
import { insides } from '../databases/inside.ts'
import { principals } from '../plan/random.ts'
import { reply, withEngine } from './bench.ts'
import { naiveReply } from './naive.ts'
import { type Asked, randomDocument } from './random-document.ts'
import { type World, worlds } from './random-model.ts'

const WORLDS = Number(process.env.WORLDS ?? 40)
const DOCUMENTS = 12

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
          await withEngine(inside, world, async ({ engine }) => {
            for (let i = 0; i < DOCUMENTS; i++) {
              const { source, sets } = randomDocument(engine.schema, seed + i * 7919, world.model)
              assert.deepEqual(validate(engine.schema, parse(source)), [])
              for (const variables of sets) {
                for (const who of callers) await compare(engine, world, { source, variables }, who, seen)
              }
            }
          })
        },
      ),
      { numRuns: Math.ceil(WORLDS * inside.share) },
    )
    // The generator must reach every kind of reply, or equality says little.
    assert.ok(seen.data > seen.documents / 10, JSON.stringify(seen))
    assert.ok(seen.errors > seen.documents / 10, JSON.stringify(seen))
    assert.ok(seen.nulled > seen.documents / 50, JSON.stringify(seen))
  })
}
