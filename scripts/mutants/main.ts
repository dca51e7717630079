/**
 * Mutation testing: applies one mutant after another to a copy of the repository, and runs the tests that must kill it.
 *
 *   npm run mutants                 all mutants
 *   npm run mutants -- src/engine/plan     the mutants of a folder or file
 *   npm run mutants -- --text       checks that each text occurs exactly once and the tests exist; runs no test
 *
 * Fails if the score is below 90 %, if a text is stale, or if a test fails without any mutant.
 */
import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { all } from './all.ts'
import { Copy, root } from './copy.ts'
import type { Mutant } from './mutant.ts'
import { faultOf, missingTest } from './placed.ts'
import { type Outcome, type Result, report } from './report.ts'

const minScore = 0.9
/** The time limit of a test, relative to its duration without a mutant. At least `minLimitMs`. */
const limitFactor = 10
const minLimitMs = 60_000
/** For a test without a mutant. */
const baselineLimitMs = 600_000
const workers = Math.min(2, availableParallelism())

const args = process.argv.slice(2)
const folders = args.filter(arg => !arg.startsWith('--'))
const chosen = all.filter(
  ({ file }) => folders.length === 0 || folders.some(folder => file.startsWith(folder)),
)

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Calls `work` for all items. Each copy works on one item at a time. */
async function inParallel<T>(
  copies: readonly Copy[],
  items: readonly T[],
  work: (item: T, copy: Copy) => Promise<void>,
) {
  const remaining = items.values()
  await Promise.all(
    copies.map(async copy => {
      for (const item of remaining) await work(item, copy)
    }),
  )
}

/** The time limits of tests. Each test runs once without a mutant, before the first mutant that it must kill. */
class Limits {
  readonly #limits = new Map<string, Promise<number>>()

  /** Returns milliseconds. `copy` has no mutant. Rejects if the test fails. */
  limitMs(test: string, copy: Copy): Promise<number> {
    const limit = this.#limits.get(test) ?? this.#measured(test, copy)
    this.#limits.set(test, limit)
    return limit
  }

  async #measured(test: string, copy: Copy): Promise<number> {
    const { passed, output, ms } = await copy.run(test, baselineLimitMs)
    if (!passed) throw new Error(`${test} fails without any mutant:\n${output}`)
    return Math.max(minLimitMs, limitFactor * ms)
  }
}

async function tryMutant(mutant: Mutant, copy: Copy, limits: Limits): Promise<Outcome> {
  const source = copy.read(mutant.file)
  const fault = faultOf(mutant, source)
  if (fault !== undefined) return { kind: 'stale', fault }
  for (const test of mutant.tests) {
    const limitMs = await limits.limitMs(test, copy)
    copy.write(mutant.file, source.split(mutant.text).join(mutant.replacement))
    const { passed } = await copy.run(test, limitMs)
    copy.write(mutant.file, source)
    if (!passed) return { kind: 'killed', test }
  }
  return { kind: 'survived' }
}

async function runAll(): Promise<readonly Result[]> {
  const copies = Array.from({ length: workers }, () => new Copy())
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))
  try {
    const limits = new Limits()
    const results: Result[] = []
    await inParallel(copies, chosen, async (mutant, copy) => {
      const start = performance.now()
      const outcome = await tryMutant(mutant, copy, limits)
      results.push({ mutant, outcome })
      const seconds = ((performance.now() - start) / 1000).toFixed(1)
      const suffix = outcome.kind === 'killed' ? ` (by ${outcome.test})` : ''
      print(
        `${results.length}/${chosen.length} ${outcome.kind} ${mutant.file}: ${mutant.mistake}${suffix}, ${seconds} s`,
      )
    })
    return results
  } finally {
    for (const copy of copies) copy.remove()
  }
}

function checkTexts(): readonly Result[] {
  return chosen.flatMap(mutant => {
    const source = readFileSync(join(root, mutant.file), 'utf8')
    const fault = faultOf(mutant, source) ?? missingTest(mutant, file => existsSync(join(root, file)))
    return fault === undefined ? [] : [{ mutant, outcome: { kind: 'stale', fault } as const }]
  })
}

if (args.includes('--text')) {
  const stale = checkTexts()
  print(report(stale).text)
  process.exitCode = stale.length === 0 ? 0 : 1
} else {
  const { text, score, stale } = report(await runAll())
  print(text)
  process.exitCode = score >= minScore && stale === 0 ? 0 : 1
}
