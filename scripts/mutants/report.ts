/** What the run of the mutants came to. */
import type { Mutant } from './mutant.ts'

export type Outcome =
  | { readonly kind: 'noticed'; readonly by: string }
  | { readonly kind: 'survived' }
  | { readonly kind: 'stale'; readonly fault: string }

export interface Result {
  readonly mutant: Mutant
  readonly outcome: Outcome
}

export interface Report {
  readonly text: string
  /** Of the mutants that matter, those that were noticed. */
  readonly share: number
  readonly stale: number
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`

function folderOf(file: string): string {
  return file.slice(0, file.lastIndexOf('/'))
}

function shareOf(results: readonly Result[]): number {
  return results.length === 0
    ? 1
    : results.filter(({ outcome }) => outcome.kind === 'noticed').length / results.length
}

function line(name: string, results: readonly Result[]): string {
  const count = (kind: Outcome['kind']) => results.filter(({ outcome }) => outcome.kind === kind).length
  const matter = results.filter(({ mutant }) => mutant.harmless === undefined)
  return `| ${name} | ${results.length} | ${matter.length} | ${count('noticed')} | ${count('survived')} | ${count('stale')} | ${percent(shareOf(matter))} |`
}

function told({ mutant, outcome }: Result): string {
  const why = outcome.kind === 'stale' ? `stale, ${outcome.fault}` : (mutant.harmless ?? 'not noticed')
  return `- ${mutant.file}: ${mutant.mistake}: ${why}`
}

/** A table by folder, and every mutant that was not noticed. */
export function report(results: readonly Result[]): Report {
  const matter = results.filter(({ mutant }) => mutant.harmless === undefined)
  const folders = Object.entries(Object.groupBy(results, ({ mutant }) => folderOf(mutant.file)))
  const rows = folders
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([folder, within = []]) => line(folder, within))
  const rest = results.filter(({ outcome }) => outcome.kind !== 'noticed').map(told)
  const head = [
    '| folder | mutants | matter | noticed | survived | stale | share |',
    '|---|---|---|---|---|---|---|',
  ]
  return {
    text: ['', ...head, ...rows, line('all', results), '', ...rest.toSorted()].join('\n'),
    share: shareOf(matter),
    stale: results.filter(({ outcome }) => outcome.kind === 'stale').length,
  }
}
