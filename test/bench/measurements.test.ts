import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { commonStatus, createdAt, randomNumbers, searchedBody, statusOf } from '../../bench/data-set/posts.ts'
import {
  comparisonTable,
  footprintLines,
  measurementsTable,
  variedTable,
  walkLine,
} from '../../bench/report.ts'
import { type Measurement, median } from '../../bench/workloads/measure.ts'
import type { VariedMeasurement } from '../../bench/workloads/measure-varied.ts'
import { topFunctions } from '../../bench/workloads/profile.ts'
import { type VariedWorkload, variedWorkloads } from '../../bench/workloads/varied-requests.ts'

const measurement: Measurement = {
  workload: 'W1',
  description: 'item',
  server: 'cold',
  setup: 'SQLite',
  rows: 100_000,
  ratios: [0.5, 0.7, 0.61],
  perSecond: [50_000, 70_000, 61_000],
  baseline: [100_000, 100_000, 100_000],
  floor: 0.6,
}

describe('measurements', () => {
  it('have a median', () => {
    assert.equal(median([3, 1, 2]), 2)
    assert.equal(median([4, 1, 2, 3]), 2.5)
  })

  it('are formatted with median, spread and floor', () => {
    const row = measurementsTable([measurement]).split('\n')[2]
    assert.equal(
      row,
      '| W1 · item | 100,000 | SQLite, from the database | 0.61 | 0.50–0.70 | 61,000 | ≥ 0.60 |',
    )
  })

  it('omit a floor that is not set', () => {
    assert.match(measurementsTable([{ ...measurement, floor: undefined }]), /\| 61,000 \| {2}\|$/)
  })

  it('of parallel setups are fractions of the first, round by round', () => {
    const rowSecurity = {
      ...measurement,
      setup: 'row security',
      ratios: [0.4, 0.35, 0.549],
      perSecond: [40_000, 35_000, 54_900],
    }
    const other = { ...measurement, workload: 'W2' }
    const rows = comparisonTable([measurement, rowSecurity, other]).split('\n').slice(2)
    assert.deepEqual(rows, [
      '| W1 · item | SQLite | 0.61 | 0.50–0.70 | 61,000 |  |',
      '| W1 · item | row security | 0.40 | 0.35–0.55 | 40,000 | 80 % |',
      '| W2 · item | SQLite | 0.61 | 0.50–0.70 | 61,000 |  |',
    ])
  })

  it('of a start and a walk are durations', () => {
    assert.match(footprintLines({ startMs: [200, 300, 250], idleMiB: [90] }), /: 250 ms\..*: 90 MiB/)
    assert.match(footprintLines({ startMs: [1], idleMiB: [] }), /unknown here/)
    assert.match(
      walkLine({ rows: 1_000_000, seconds: 61, earlyMiB: 100, highestMiB: 120 }),
      /1,000,000 posts.*100 MiB.*120 MiB/,
    )
  })

  it('of a profile are fractions of its samples, in descending order', () => {
    const node = (id: number, functionName: string) => ({
      id,
      callFrame: { functionName, url: 'file:///a/b/c.js', lineNumber: 4 },
    })
    const top = topFunctions({ nodes: [node(1, 'f'), node(2, 'g')], samples: [1, 2, 2, 2] }, 2)
    assert.deepEqual(top, [' 75.0 %  g b/c.js:5', ' 25.0 %  f b/c.js:5'])
  })
})

describe('random numbers', () => {
  it('are reproducible, and between 0 and 1', () => {
    const [a, b] = [randomNumbers(7), randomNumbers(7)]
    for (let n = 0; n < 100; n++) {
      const value = a()
      assert.equal(b(), value)
      assert.ok(value >= 0 && value < 1)
    }
    assert.notEqual(randomNumbers(1)(), randomNumbers(2)())
  })
})

const rows = 100_000
const requestsOf = ({ requests }: VariedWorkload) => requests({ rows }, String)
const workloadNamed = (name: string) => {
  const workload = variedWorkloads.find(workload => workload.name === name)
  assert.ok(workload)
  return requestsOf(workload)
}
const keyOf = ({ method, path, body = '' }: { method: string; path: string; body?: string }) =>
  `${method} ${path} ${body}`

const turn = (perSecond: number, cpuMicros: number | undefined) => ({
  perSecond,
  answered: perSecond,
  refused: 0,
  p50Ms: 2,
  p99Ms: 9.04,
  next: 0,
  cpuMicros,
})

const variedMeasurement: VariedMeasurement = {
  workload: 'W10',
  description: 'newest first',
  setup: 'SQLite',
  rows,
  floor: { ofLimit: 0.7, postgres: 0.06 },
  rounds: [
    { baseline: turn(100_000, 10), limit: turn(20_000, 50), portico: turn(15_000, 66.4) },
    { baseline: turn(100_000, 10), limit: turn(20_000, 50), portico: turn(17_000, 60) },
    { baseline: turn(100_000, 10), limit: turn(20_000, 50), portico: turn(16_000, 70) },
  ],
}

describe('requests of W10 to W19', () => {
  for (const workload of variedWorkloads) {
    const { name } = workload
    it(`are numerous and different: ${name}`, () => {
      const requests = requestsOf(workload)
      const different = new Set(requests.map(keyOf)).size
      assert.ok(different >= 900, `${different} different requests`)
      if (!name.startsWith('W19')) assert.equal(different, requests.length)
      assert.deepEqual(requestsOf(workload).slice(0, 100), requests.slice(0, 100), 'the same in every run')
    })
  }

  it('delete each post once', () => {
    assert.equal(workloadNamed('W16').length, rows)
  })

  it('consist of nine reads for each create', () => {
    const requests = workloadNamed('W19@memory')
    const creates = requests.filter(({ method }) => method === 'POST').length
    assert.ok(Math.abs(creates / requests.length - 0.1) < 0.01, `${creates} of ${requests.length}`)
  })
})

describe('posts of the data sets', () => {
  it('are spread over a year, a few of them out of order', () => {
    const random = randomNumbers(1)
    const times = Array.from({ length: 10_000 }, (_, n) => createdAt(n + 1, 10_000, random))
    assert.equal(new Set(times).size, times.length)
    const outOfOrder = times.filter((time, n) => n > 0 && time < (times[n - 1] ?? '')).length
    assert.ok(outOfOrder > 100 && outOfOrder < 300, `${outOfOrder} are earlier than the one before`)
    assert.ok((times.at(-1) ?? '') > '2025-12-27' && (times.at(-1) ?? '') < '2026-01-02')
  })

  it('have the common status in 40 of 100, a rare word in 10 and a common one in 30,000', () => {
    const random = randomNumbers(1)
    const statuses = Array.from({ length: 10_000 }, () => statusOf(random))
    const published = statuses.filter(status => status === commonStatus).length
    assert.ok(Math.abs(published - 4_000) < 200, `${published} of 10,000`)
    const words = Array.from({ length: rows }, (_, n) => searchedBody(n + 1, rows, random).split(' '))
    assert.equal(words.filter(terms => terms.includes('rare77')).length, 10)
    const common = words.filter(terms => terms.includes('topic7')).length
    assert.ok(Math.abs(common - 30_000) < 1_000, `${common} posts`)
  })
})

describe('the table of W10 to W19', () => {
  it('has both ratios, the floor, the latencies and the CPU times', () => {
    const [, , row] = variedTable([variedMeasurement]).split('\n')
    assert.equal(
      row,
      '| W10 · newest first | 100,000 | SQLite | 16,000 | 0.16 | 0.80 | ≥ 0.70 of the hand-written one | 2.0 · 9.0 ms | 66 µs · 50 µs · 10 µs |',
    )
  })

  it('states the fraction of refused requests', () => {
    const rounds = [{ baseline: turn(1_000, 10), portico: { ...turn(30, 10), refused: 170 } }]
    assert.match(variedTable([{ ...variedMeasurement, rounds }]), /\| 30 \(85 % refused\) \|/)
  })

  it('omits missing values', () => {
    const baseline = { baseline: turn(100_000, undefined), portico: turn(8_000, undefined) }
    const [, , row] = variedTable([{ ...variedMeasurement, setup: 'PostgreSQL', rounds: [baseline] }]).split(
      '\n',
    )
    assert.equal(
      row,
      '| W10 · newest first | 100,000 | PostgreSQL | 8,000 | 0.080 |  | ≥ 0.060 of the bare server | 2.0 · 9.0 ms | – · – · – |',
    )
  })
})
