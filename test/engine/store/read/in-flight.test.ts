/** Identical reads in progress: which of them share a query. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer } from '../../../../src/engine/store/read/answers.ts'
import { ReadsByCaller, type ReadsInFlight } from '../../../../src/engine/store/read/in-flight.ts'
import { JoinedReads } from '../../../../src/engine/store/read/joined-reads.ts'

/** A query that the test answers. */
interface Query {
  readonly caller: string
  /** Undefined: none. */
  readonly signal: AbortSignal | undefined
  readonly finish: (answer: Answer) => void
}

function withReads(reads: ReadsInFlight) {
  const queries: Query[] = []
  const read = (caller: string, stamp = 1) =>
    reads.get('key', stamp, caller) ??
    reads.add('key', stamp, caller, ({ signal }) => {
      const { promise, resolve } = Promise.withResolvers<Answer>()
      queries.push({ caller, signal, finish: resolve })
      return promise
    })
  return { queries, read, callers: () => queries.map(({ caller }) => caller) }
}

const [first, second] = [{ text: 'first' }, { text: 'second' }] as unknown as readonly [Answer, Answer]

test('each caller has one query, also when callers alternate, and the first answer serves all', async () => {
  const { queries, read, callers } = withReads(new ReadsByCaller())
  const answers = [read('ann'), read('ben'), read('ann'), read('ben')]
  assert.deepEqual(callers(), ['ann', 'ben'])
  queries[0]?.finish(first)
  assert.deepEqual(await Promise.all(answers), [first, first, first, first])
  assert.equal(queries[1]?.signal?.aborted, true)
})

test('reads that join share one query, whoever sends them', async () => {
  const { queries, read, callers } = withReads(new JoinedReads())
  const answers = [read('ann'), read('ben'), read('ann')]
  assert.deepEqual(callers(), ['ann'])
  queries[0]?.finish(first)
  assert.deepEqual(await Promise.all(answers), [first, first, first])
})

for (const Reads of [ReadsByCaller, JoinedReads]) {
  test(`${Reads.name}: a read after a change, or after an answer, has a new query`, async () => {
    const { queries, read, callers } = withReads(new Reads())
    const early = read('ann', 1)
    const late = read('ann', 2)
    assert.equal(callers().length, 2)
    queries[0]?.finish(first)
    queries[1]?.finish(second)
    assert.deepEqual(await Promise.all([early, late]), [first, second])
    void read('ann', 2)
    assert.equal(callers().length, 3)
  })
}
