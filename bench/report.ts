/** Formats results as Markdown tables, and writes them to docs/performance.md. */
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { generator } from './load/load.ts'
import { type Figure, type Footprint, median, type Walk } from './workloads/measure.ts'
import type { VariedFigure, VariedRound } from './workloads/measure-varied.ts'

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

function row(figure: Figure): string {
  const cells = [
    `${figure.workload} · ${figure.description}`,
    figure.rows.toLocaleString('en'),
    figure.server === 'limit' ? names.limit : `${figure.setup}, ${names[figure.server]}`,
    two(median(figure.ratios)),
    spread(figure.ratios),
    Math.round(median(figure.perSecond)).toLocaleString('en'),
    figure.floor === undefined ? '' : `≥ ${two(figure.floor)}`,
  ]
  return `| ${cells.join(' | ')} |`
}

export function figuresTable(figures: readonly Figure[]): string {
  return [
    '| work | posts | answer | ratio, median | min–max | requests/s | floor |',
    '|---|---|---|---|---|---|---|',
    ...figures.map(row),
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
export function variedTable(figures: readonly VariedFigure[]): string {
  return [
    '| work | posts | database | requests/s | of the bare server | of the hand-written one | floor | p50 · p99 | processor time a request: Portico · hand-written · bare |',
    '|---|---|---|---|---|---|---|---|---|',
    ...figures.map(variedRow),
  ].join('\n')
}

function variedRow({ workload, description, rows, setup, rounds, floor }: VariedFigure): string {
  const medianOf = (value: (round: VariedRound) => number) => median(rounds.map(value))
  const limits = rounds.flatMap(({ limit, own }) => (limit === undefined ? [] : { limit, own }))
  const times = [
    rounds.map(({ own }) => own.cpuMicros),
    limits.map(({ limit }) => limit.cpuMicros),
    rounds.map(({ bare }) => bare.cpuMicros),
  ]
  const cells = [
    `${workload} · ${description}`,
    rows.toLocaleString('en'),
    setup,
    Math.round(medianOf(round => round.own.perSecond)).toLocaleString('en') + refusals(rounds),
    two(medianOf(round => round.own.perSecond / round.bare.perSecond)),
    limits.length === 0 ? '' : two(median(limits.map(round => round.own.perSecond / round.limit.perSecond))),
    variedFloor(floor, setup),
    `${medianOf(round => round.own.p50Ms).toFixed(1)} · ${medianOf(round => round.own.p99Ms).toFixed(1)} ms`,
    times.map(micros).join(' · '),
  ]
  return `| ${cells.join(' | ')} |`
}

/** The share of refused requests, if there were any. */
function refusals(rounds: readonly VariedRound[]): string {
  const sum = (value: (round: VariedRound) => number) => rounds.reduce((all, round) => all + value(round), 0)
  const [refused, answered] = [sum(({ own }) => own.refused), sum(({ own }) => own.answered)]
  return refused === 0 ? '' : ` (${Math.ceil((100 * refused) / (refused + answered))} % refused)`
}

function variedFloor({ ofLimit, ofBare, postgres }: VariedFigure['floor'], setup: string): string {
  if (setup !== 'SQLite') return postgres === undefined ? '' : `≥ ${two(postgres)} of the bare server`
  if (ofLimit !== undefined) return `≥ ${two(ofLimit)} of the hand-written one`
  return ofBare === undefined ? '' : `≥ ${two(ofBare)} of the bare server`
}

/** The median of the reported values. */
function micros(values: readonly (number | undefined)[]): string {
  const reported = values.filter(value => value !== undefined)
  return reported.length === 0 ? '–' : `${Math.round(median(reported))} µs`
}

/** For each workload, the results of the first setup and, relative to it, of the others. */
export function comparisonTable(figures: readonly Figure[]): string {
  return [
    '| work | on | ratio, median | min–max | requests/s | of the first |',
    '|---|---|---|---|---|---|',
    ...figures.map(figure => {
      const first = figures.find(({ workload }) => workload === figure.workload) ?? figure
      const cells = [
        `${figure.workload} · ${figure.description}`,
        figure.setup,
        two(median(figure.ratios)),
        spread(figure.ratios),
        Math.round(median(figure.perSecond)).toLocaleString('en'),
        figure === first ? '' : `${percent(figure, first)} %`,
      ]
      return `| ${cells.join(' | ')} |`
    }),
  ].join('\n')
}

/** The median of the ratios within each round. */
function percent({ ratios }: Figure, first: Figure): number {
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
