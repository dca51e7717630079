/** The results of a run of the mutants. */
import type { Mutant } from './mutant.ts'

export type Outcome =
  | { readonly kind: 'killed'; readonly test: string }
  | { readonly kind: 'survived' }
  | { readonly kind: 'stale'; readonly fault: string }

export interface Result {
  readonly mutant: Mutant
  readonly outcome: Outcome
}

export interface Report {
  readonly text: string
  /** The share of mutants that were killed, without equivalent ones. */
  readonly score: number
  readonly stale: number
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`

function folderOf(file: string): string {
  return file.slice(0, file.lastIndexOf('/'))
}

function scoreOf(results: readonly Result[]): number {
  return results.length === 0
    ? 1
    : results.filter(({ outcome }) => outcome.kind === 'killed').length / results.length
}

function line(name: string, results: readonly Result[]): string {
  const count = (kind: Outcome['kind']) => results.filter(({ outcome }) => outcome.kind === kind).length
  const counted = results.filter(({ mutant }) => mutant.equivalent === undefined)
  return `| ${name} | ${results.length} | ${counted.length} | ${count('killed')} | ${count('survived')} | ${count('stale')} | ${percent(scoreOf(counted))} |`
}

function resultLine({ mutant, outcome }: Result): string {
  const why = outcome.kind === 'stale' ? `stale, ${outcome.fault}` : (mutant.equivalent ?? 'survived')
  return `- ${mutant.file}: ${mutant.mistake}: ${why}`
}

/** A table by folder, and every mutant that was not killed. */
export function report(results: readonly Result[]): Report {
  const counted = results.filter(({ mutant }) => mutant.equivalent === undefined)
  const folders = Object.entries(Object.groupBy(results, ({ mutant }) => folderOf(mutant.file)))
  const rows = folders
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([folder, within = []]) => line(folder, within))
  const rest = results.filter(({ outcome }) => outcome.kind !== 'killed').map(resultLine)
  const head = [
    '| folder | mutants | not equivalent | killed | survived | stale | score |',
    '|---|---|---|---|---|---|---|',
  ]
  return {
    text: ['', ...head, ...rows, line('all', results), '', ...rest.toSorted()].join('\n'),
    score: scoreOf(counted),
    stale: results.filter(({ outcome }) => outcome.kind === 'stale').length,
  }
}
