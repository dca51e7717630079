import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Figure, median } from '../../bench/measure.ts'
import { randomNumbers } from '../../bench/posts.ts'
import { topFunctions } from '../../bench/profile.ts'
import { besideTable, figuresTable, footprintLines, walkLine } from '../../bench/report.ts'

const figure: Figure = {
  workload: 'W1',
  what: 'item',
  server: 'cold',
  stage: 'SQLite',
  rows: 100_000,
  ratios: [0.5, 0.7, 0.61],
  perSecond: [50_000, 70_000, 61_000],
  baseline: [100_000, 100_000, 100_000],
  floor: 0.6,
}

describe('figures', () => {
  it('have a median', () => {
    assert.equal(median([3, 1, 2]), 2)
    assert.equal(median([4, 1, 2, 3]), 2.5)
  })

  it('are written with median, spread and floor', () => {
    const row = figuresTable([figure]).split('\n')[2]
    assert.equal(
      row,
      '| W1 · item | 100,000 | SQLite, from the database | 0.61 | 0.50–0.70 | 61,000 | ≥ 0.60 |',
    )
  })

  it('leave the floor out where none is set', () => {
    assert.match(figuresTable([{ ...figure, floor: undefined }]), /\| 61,000 \| {2}\|$/)
  })

  it('of stages beside each other are shares of the first, round by round', () => {
    const locked = {
      ...figure,
      stage: 'locked',
      ratios: [0.4, 0.35, 0.549],
      perSecond: [40_000, 35_000, 54_900],
    }
    const other = { ...figure, workload: 'W2' }
    const rows = besideTable([figure, locked, other]).split('\n').slice(2)
    assert.deepEqual(rows, [
      '| W1 · item | SQLite | 0.61 | 0.50–0.70 | 61,000 |  |',
      '| W1 · item | locked | 0.40 | 0.35–0.55 | 40,000 | 80 % |',
      '| W2 · item | SQLite | 0.61 | 0.50–0.70 | 61,000 |  |',
    ])
  })

  it('say what a start and a walk took', () => {
    assert.match(footprintLines({ startMs: [200, 300, 250], idleMiB: [90] }), /: 250 ms\..*: 90 MiB/)
    assert.match(footprintLines({ startMs: [1], idleMiB: [] }), /unknown here/)
    assert.match(
      walkLine({ rows: 1_000_000, seconds: 61, earlyMiB: 100, highestMiB: 120 }),
      /1,000,000 posts.*100 MiB.*120 MiB/,
    )
  })

  it('of a profile are shares of its samples, the largest first', () => {
    const node = (id: number, functionName: string) => ({
      id,
      callFrame: { functionName, url: 'file:///a/b/c.js', lineNumber: 4 },
    })
    const top = topFunctions({ nodes: [node(1, 'f'), node(2, 'g')], samples: [1, 2, 2, 2] }, 2)
    assert.deepEqual(top, [' 75.0 %  g b/c.js:5', ' 25.0 %  f b/c.js:5'])
  })
})

describe('random numbers', () => {
  it('are the same each time, and between 0 and 1', () => {
    const [a, b] = [randomNumbers(7), randomNumbers(7)]
    for (let n = 0; n < 100; n++) {
      const value = a()
      assert.equal(b(), value)
      assert.ok(value >= 0 && value < 1)
    }
    assert.notEqual(randomNumbers(1)(), randomNumbers(2)())
  })
})
