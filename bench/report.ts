/** Formats results as Markdown tables, and writes them to docs/performance.md. */
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { generator } from './load/load.ts'
import { type Footprint, type Measurement, median, type Walk } from './workloads/measure.ts'
import type { VariedMeasurement, VariedRound } from './workloads/measure-varied.ts'

/** A section of docs/performance.md that the benchmarks write. */
export type Part =
  | 'bench'
  | 'varied'
  | 'postgres'
  | 'growth'
  | 'slow-reads'
  | 'import'
  | 'ledger'
  | 'fan-out'
  | 'first-steps'

const markers: Readonly<Record<Part, readonly [start: string, end: string]>> = {
  bench: ['<!-- bench: written by `npm run bench -- --write-docs` -->', '<!-- /bench -->'],
  postgres: ['<!-- postgres: written by `npm run bench -- postgres --write-docs` -->', '<!-- /postgres -->'],
  varied: ['<!-- varied: written by `npm run bench -- varied --write-docs` -->', '<!-- /varied -->'],
  growth: ['<!-- growth: written by `npm run bench -- growth --write-docs` -->', '<!-- /growth -->'],
  'slow-reads': [
    '<!-- slow-reads: written by `npm run bench -- slow-reads --write-docs` -->',
    '<!-- /slow-reads -->',
  ],
  import: ['<!-- import: written by `npm run bench -- import --write-docs` -->', '<!-- /import -->'],
  ledger: ['<!-- ledger: written by `npm run bench -- ledger --write-docs` -->', '<!-- /ledger -->'],
  'fan-out': ['<!-- fan-out: written by `npm run bench -- fan-out --write-docs` -->', '<!-- /fan-out -->'],
  'first-steps': [
    '<!-- first-steps: written by `npm run bench -- first-steps --write-docs` -->',
    '<!-- /first-steps -->',
  ],
}

const names = { cold: 'from the database', hot: 'from the cache', limit: 'hand-written limit' }

function two(value: number): string {
  return value.toFixed(value < 0.1 ? 3 : 2)
}

function spread(values: readonly number[]): string {
  return `${two(Math.min(...values))}–${two(Math.max(...values))}`
}

function row(measurement: Measurement): string {
  const cells = [
    `${measurement.workload} · ${measurement.description}`,
    measurement.rows.toLocaleString('en'),
    measurement.server === 'limit' ? names.limit : `${measurement.setup}, ${names[measurement.server]}`,
    two(median(measurement.ratios)),
    spread(measurement.ratios),
    Math.round(median(measurement.perSecond)).toLocaleString('en'),
    measurement.floor === undefined ? '' : `≥ ${two(measurement.floor)}`,
  ]
  return `| ${cells.join(' | ')} |`
}

export function measurementsTable(measurements: readonly Measurement[]): string {
  return [
    '| work | posts | answer | ratio, median | min–max | requests/s | floor |',
    '|---|---|---|---|---|---|---|',
    ...measurements.map(row),
  ].join('\n')
}

export function machine(): string {
  const { node, sqlite } = process.versions
  return `Node ${node}, SQLite ${sqlite}, ${availableParallelism()} cores shared with the load generator (${generator}).`
}

export function footprintLines({ startMs, idleMiB }: Footprint): string {
  const memory = idleMiB.length === 0 ? 'unknown here' : `${Math.round(median(idleMiB))} MiB`
  return `Start to first answer: ${Math.round(median(startMs))} ms. Memory when idle: ${memory}.`
}

export function walkLine({ rows, seconds, earlyMiB, highestMiB }: Walk): string {
  return (
    `Reading all ${rows.toLocaleString('en')} posts by cursor took ${Math.round(seconds)} s; the process held ` +
    `${Math.round(earlyMiB)} MiB after a tenth of them and never more than ${Math.round(highestMiB)} MiB after that.`
  )
}

/** The results of W10 to W19: the median over the rounds. */
export function variedTable(measurements: readonly VariedMeasurement[]): string {
  return [
    '| work | posts | database | requests/s | of the bare server | of the hand-written one | floor | p50 · p99 | processor time a request: Portico · hand-written · bare |',
    '|---|---|---|---|---|---|---|---|---|',
    ...measurements.map(variedRow),
  ].join('\n')
}

function variedRow({ workload, description, rows, setup, rounds, floor }: VariedMeasurement): string {
  const medianOf = (value: (round: VariedRound) => number) => median(rounds.map(value))
  const limits = rounds.flatMap(({ limit, portico }) => (limit === undefined ? [] : { limit, portico }))
  const times = [
    rounds.map(({ portico }) => portico.cpuMicros),
    limits.map(({ limit }) => limit.cpuMicros),
    rounds.map(({ baseline }) => baseline.cpuMicros),
  ]
  const cells = [
    `${workload} · ${description}`,
    rows.toLocaleString('en'),
    setup,
    Math.round(medianOf(round => round.portico.perSecond)).toLocaleString('en') + refusals(rounds),
    two(medianOf(round => round.portico.perSecond / round.baseline.perSecond)),
    limits.length === 0
      ? ''
      : two(median(limits.map(round => round.portico.perSecond / round.limit.perSecond))),
    variedFloor(floor, setup),
    `${medianOf(round => round.portico.p50Ms).toFixed(1)} · ${medianOf(round => round.portico.p99Ms).toFixed(1)} ms`,
    times.map(micros).join(' · '),
  ]
  return `| ${cells.join(' | ')} |`
}

/** The share of refused requests, if there were any. */
function refusals(rounds: readonly VariedRound[]): string {
  const sum = (value: (round: VariedRound) => number) => rounds.reduce((all, round) => all + value(round), 0)
  const [refused, answered] = [sum(({ portico }) => portico.refused), sum(({ portico }) => portico.answered)]
  return refused === 0 ? '' : ` (${Math.ceil((100 * refused) / (refused + answered))} % refused)`
}

function variedFloor({ ofLimit, ofBaseline, postgres }: VariedMeasurement['floor'], setup: string): string {
  if (setup !== 'SQLite') return postgres === undefined ? '' : `≥ ${two(postgres)} of the bare server`
  if (ofLimit !== undefined) return `≥ ${two(ofLimit)} of the hand-written one`
  return ofBaseline === undefined ? '' : `≥ ${two(ofBaseline)} of the bare server`
}

/** The median of the reported values. */
function micros(values: readonly (number | undefined)[]): string {
  const reported = values.filter(value => value !== undefined)
  return reported.length === 0 ? '–' : `${Math.round(median(reported))} µs`
}

/** For each workload, the results of the first setup and, relative to it, of the others. */
export function comparisonTable(measurements: readonly Measurement[]): string {
  return [
    '| work | on | ratio, median | min–max | requests/s | of the first |',
    '|---|---|---|---|---|---|',
    ...measurements.map(measurement => {
      const first = measurements.find(({ workload }) => workload === measurement.workload) ?? measurement
      const cells = [
        `${measurement.workload} · ${measurement.description}`,
        measurement.setup,
        two(median(measurement.ratios)),
        spread(measurement.ratios),
        Math.round(median(measurement.perSecond)).toLocaleString('en'),
        measurement === first ? '' : `${percent(measurement, first)} %`,
      ]
      return `| ${cells.join(' | ')} |`
    }),
  ].join('\n')
}

/** The median of the ratios within each round. */
function percent({ ratios }: Measurement, first: Measurement): number {
  return Math.round(100 * median(ratios.map((ratio, round) => ratio / (first.ratios[round] ?? ratio))))
}

/** Replaces the text between the markers in docs/performance.md. */
export function writeDocs(part: Part, text: string): void {
  const file = new URL('../docs/performance.md', import.meta.url)
  const page = readFileSync(file, 'utf8')
  const [start, end] = markers[part]
  const [from, to] = [page.indexOf(start), page.indexOf(end)]
  if (from === -1 || to === -1) throw new Error(`docs/performance.md has no markers for ${part}.`)
  writeFileSync(file, `${page.slice(0, from + start.length)}\n\n${text}\n\n${page.slice(to)}`)
}
