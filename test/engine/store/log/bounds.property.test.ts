/**
 * The bounds of the log are reliable while two stores write and prune: a reader that resumes at an id that is not pruned
 * reads every later event, and pruning never passes a reader that holds its position.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import fc from 'fast-check'
import type { Store } from '../../../../src/engine/store/store.ts'
import { cases } from '../../../cases.ts'
import { blog, Client } from '../blog.ts'
import { databaseKinds } from '../databases.ts'

const maxAgeMs = 20_000
const pageSize = 7

type Step =
  | { readonly kind: 'write'; readonly by: number; readonly count: number }
  /** Advances the clock, so that events are pruned. */
  | { readonly kind: 'tick'; readonly ms: number }
  /** A reader reads a page; `resume`: from one of its earlier positions. */
  | { readonly kind: 'read'; readonly reader: number; readonly resume: number | undefined }
  | { readonly kind: 'audit' }
  | { readonly kind: 'wait' }

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('write' as const),
        by: fc.nat(1),
        count: fc.integer({ min: 1, max: 4 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('tick' as const), ms: fc.nat(maxAgeMs) }) },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('read' as const),
        reader: fc.nat(2),
        resume: fc.option(fc.nat(20), { nil: undefined }),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ kind: 'audit' as const }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'wait' as const }) },
  ),
  { minLength: 40, maxLength: 80 },
)

interface Page {
  readonly after: number
  readonly ids: readonly number[]
}

/** Reads from its position. If the bounds show that it may have missed events, it resumes at the end of the log. */
class Reader {
  readonly pages: Page[] = []
  readonly #store: Store
  #seen: number[] = [0]
  #position = 0
  resyncs = 0

  constructor(store: Store) {
    this.#store = store
  }

  async read(resume?: number): Promise<number> {
    const { changes } = this.#store
    if (resume !== undefined) this.#position = this.#seen[resume % this.#seen.length] ?? 0
    const after = this.#position
    const ids = (await changes.after(after, pageSize)).map(({ event }) => event)
    const { pruned, drawn } = await changes.bounds()
    assert.ok(after <= drawn, 'no reader has an id that was not drawn')
    if (after < pruned) {
      this.resyncs++
      this.#position = await changes.last()
      assert.ok(this.#position >= pruned)
    } else {
      this.pages.push({ after, ids })
      this.#position = ids.at(-1) ?? after
    }
    this.#seen.push(this.#position)
    return ids.length
  }
}

/** Holds its position, so that it reads every event. */
class Auditor {
  readonly ids: number[] = []
  readonly created: number[] = []
  readonly #store: Store
  #position = 0

  constructor(store: Store) {
    this.#store = store
  }

  async read(): Promise<number> {
    const { changes } = this.#store
    const events = await changes.after(this.#position, 50)
    const { pruned } = await changes.bounds()
    assert.ok(pruned <= this.#position, `${pruned} is pruned, ${this.#position} is held`)
    for (const { event, kind, id, collection } of events) {
      this.ids.push(event)
      if (kind === 'created' && collection === 'posts') this.created.push(id)
    }
    this.#position = events.at(-1)?.event ?? this.#position
    await changes.hold('audit', this.#position)
    return events.length
  }
}

async function toTheEnd(reader: { read(): Promise<number> }): Promise<void> {
  while ((await reader.read()) > 0) {}
}

for (const { name, within } of databaseKinds) {
  test(`${name}: a reader that need not resync misses no event while two stores write and prune`, async () => {
    let [pages, resyncs] = [0, 0]
    const property = fc.asyncProperty(steps, all =>
      within(async database => {
        const clock = { ms: Date.parse('2026-01-01T00:00:00Z') }
        const retention = { maxAgeMs, idleMs: 3 }
        const open = () => database.open(blog, { retention, now: () => clock.ms })
        const stores = [await open(), await open()] as const
        const clients = stores.map(store => new Client(store))
        await stores[0].changes.hold('audit', 0)
        await clients[0]?.create('users', { name: 'Ada', email: 'ada@example.com' })
        const auditor = new Auditor(stores[1])
        const readers = [0, 1, 0].map(index => new Reader(stores[index] ?? stores[0]))
        const written: Promise<number>[] = []
        const write = async (clientIndex: number): Promise<number> => {
          const client = clients[clientIndex] ?? assert.fail()
          const { id } = await client.create('posts', { title: 'a', author_id: 1 })
          await client.update('posts', id, { title: 'b' })
          return id
        }
        for (const step of all) {
          if (step.kind === 'write') {
            for (let n = 0; n < step.count; n++) written.push(write(step.by))
          } else if (step.kind === 'tick') clock.ms += step.ms
          else if (step.kind === 'read') await readers[step.reader]?.read(step.resume)
          else if (step.kind === 'audit') await auditor.read()
          else await wait(5)
        }
        const ids = await Promise.all(written)
        await toTheEnd(auditor)
        for (const reader of readers) await toTheEnd(reader)
        assert.deepEqual(
          auditor.created.toSorted((a, b) => a - b),
          ids.toSorted((a, b) => a - b),
        )
        assert.equal(auditor.ids.length, 1 + 2 * ids.length)
        for (const page of readers.flatMap(reader => reader.pages)) {
          const last = page.ids.at(-1) ?? page.after
          assert.deepEqual(
            page.ids,
            auditor.ids.filter(id => id > page.after && id <= last),
          )
        }
        pages += readers.flatMap(reader => reader.pages).length
        resyncs += readers.reduce((sum, reader) => sum + reader.resyncs, 0)
        await Promise.all(stores.map(store => store.close()))
      }),
    )
    await fc.assert(property, { ...cases(6, 6), endOnFailure: true })
    // Enough for the comparisons to mean something; once, six random runs had 86.
    assert.ok(pages > 30 && resyncs > 0, `${pages} pages, ${resyncs} resyncs`)
  })
}
