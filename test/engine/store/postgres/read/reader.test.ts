/** The answer cache of PostgreSQL, without a database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Principal, user } from '../../../../../src/base/principal.ts'
import type { ItemAnswer } from '../../../../../src/engine/plan/answer.ts'
import { defaultAnswerLimits } from '../../../../../src/engine/plan/answer-bound.ts'
import { createGuard } from '../../../../../src/engine/plan/guard/guard.ts'
import type { ItemShape } from '../../../../../src/engine/plan/plan.ts'
import type { DataRows } from '../../../../../src/engine/store/postgres/connections/statement.ts'
import { PostgresReads, type ReadOptions } from '../../../../../src/engine/store/postgres/read/reads.ts'
import {
  enforcedSecurity,
  noSecurity,
  type Security,
} from '../../../../../src/engine/store/postgres/row-security/security.ts'
import type { Checks } from '../../../../../src/engine/store/postgres/versions/checks.ts'
import { Answers } from '../../../../../src/engine/store/read/answers.ts'
import { listCacheOptions } from '../../../../../src/engine/store/read/list-cache.ts'
import { Reader } from '../../../../../src/engine/store/read/reader.ts'
import type { WaitingCallers } from '../../../../../src/engine/store/read/waiting-callers.ts'
import { Versions } from '../../../../../src/engine/store/versions.ts'
import { blog, fields } from '../../blog.ts'

const shape: ItemShape = { kind: 'item', collection: 'posts', id: 0, select: fields('id', 'title') }
const guard = createGuard(blog)
const [ann, ben] = [user(1, 'user', 'all'), user(2, 'user', 'all')]

/** A reader whose queries the test answers. */
function open(security: Security = noSecurity) {
  const versions = new Versions()
  const questions: ((text: string) => void)[] = []
  const allWaiting: WaitingCallers[] = []
  const ask = (_: unknown, { waitingCallers }: ReadOptions) => {
    allWaiting.push(waitingCallers)
    const { promise, resolve } = Promise.withResolvers<readonly DataRows[]>()
    questions.push(text => resolve([[[text]]]))
    return promise
  }
  const reads = new PostgresReads({
    answerLimits: defaultAnswerLimits,
    answers: new Answers(1_000_000),
    lists: listCacheOptions({ versions, keepsTotals: true }),
    checks: {} as Checks,
    security,
    primary: { ask },
    source: { ask },
  })
  const reader = new Reader(reads)
  const read = async (as: Principal = ann) =>
    ((await reader.read(guard({ shape, args: [1] }, as))) as ItemAnswer).text
  return { read, questions, allWaiting, changed: () => versions.bump(['posts']), counts: reader.counts }
}

test('identical reads share one query until the collection changes', async () => {
  const { read, questions, changed } = open()
  const [first, second] = [read(), read()]
  questions[0]?.('first')
  assert.deepEqual(await Promise.all([first, second, read()]), ['first', 'first', 'first'])
  assert.equal(questions.length, 1)
  changed()
  const other = read()
  questions[1]?.('second')
  assert.equal(await other, 'second')
})

test('an identical read of another caller shares the query, and does not wait for others of the first caller', async () => {
  const { read, questions, allWaiting } = open()
  const reads = [read(ann), read(ben), read(ann)]
  assert.deepEqual(
    allWaiting.map(({ callers }) => [...callers]),
    [[ann.budgetKey, ben.budgetKey]],
  )
  questions[0]?.('first')
  assert.deepEqual(await Promise.all(reads), ['first', 'first', 'first'])
})

test('a read after a change does not share the query of a read before it', async () => {
  const { read, questions, changed } = open()
  const early = read()
  changed()
  const late = read()
  assert.equal(questions.length, 2)
  questions[1]?.('second')
  questions[0]?.('first')
  assert.deepEqual([await early, await late], ['first', 'second'])
  const later = read()
  questions[2]?.('second')
  assert.equal(await later, 'second', 'nor is its answer cached')
})

test('an answer is not cached if the collection changed during the query', async () => {
  const { read, questions, changed } = open()
  const early = read()
  changed()
  questions[0]?.('first')
  assert.equal(await early, 'first')
  const late = read()
  questions[1]?.('second')
  assert.equal(await late, 'second')
})

test('callers share the cached answer of a public read, but not under row security', async () => {
  for (const [security, count] of [
    [noSecurity, 1],
    [enforcedSecurity, 2],
  ] as const) {
    const { read, questions } = open(security)
    const own = read(ann)
    questions[0]?.('of ann')
    assert.equal(await own, 'of ann')
    const other = read(ben)
    questions[1]?.('of ben')
    assert.equal(await other, count === 1 ? 'of ann' : 'of ben')
    assert.equal(questions.length, count)
  }
})
