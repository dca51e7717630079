/**
 * How many cases of a long test run. `npm run test:whole` (`PORTICO_MATRIX=whole`) runs all of them, and the properties
 * with new ones each time; other runs take a short count, chosen by a seed (`PORTICO_SEED`), so that they fail only for what a
 * change did.
 */
export const isWhole = process.env.PORTICO_MATRIX === 'whole'

const { PORTICO_SEED: givenSeed } = process.env
export const seed = Number(givenSeed ?? 28)

/** How many cases to run, of all. */
export function caseCount(all: number, short = Math.ceil(all / 4)): number {
  return isWhole ? all : short
}

/** The parameters of a property: how many cases fast-check runs, and with which seed. */
export function cases(all: number, short?: number): { readonly numRuns: number; readonly seed?: number } {
  const numRuns = caseCount(all, short)
  return isWhole && givenSeed === undefined ? { numRuns } : { numRuns, seed }
}

/** Random numbers from 0 to 1, reproducible from the seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

const random = seeded(seed)

/** A sixth of the cases, chosen anew at each call. */
export function sampled<T>(all: Iterable<T>): readonly T[] {
  return isWhole ? [...all] : [...all].filter(() => random() < 1 / 6)
}
