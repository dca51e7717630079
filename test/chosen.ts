/**
 * Which set-ups a run tests. `npm test` runs tests on SQLite in the process of the test; `npm run test:all` adds the other
 * databases and several nodes. Named files run on all.
 */

import { test } from 'node:test'

/** `quick`: what `npm test` runs; `rest`: what `npm run test:all` adds to it; `all`: both. */
export type Part = 'quick' | 'rest' | 'all'

/** Undefined in `npm run test:whole`, and for named files. Set by `scripts/test.mjs`. */
const part = process.env.PORTICO_TEST_PART as Part | undefined
const isBoth = part === undefined || part === 'all'

/** Those of the set-ups that belong to this run. The quick one is named `SQLite`. */
export function chosen<S extends { readonly name: string }>(setups: Iterable<S>): readonly S[] {
  return [...setups].filter(({ name }) => isBoth || (name === 'SQLite') === (part === 'quick'))
}

/** Set-ups that differ from others of the test only in what is tested elsewhere: `test:all` leaves them out. */
export function inWhole<S>(...setups: readonly S[]): readonly S[] {
  return part === undefined ? setups : []
}

/** A test of what SQLite in this process cannot show: `npm test` leaves it out. */
export const testOfOthers: typeof test = part === 'quick' ? ((() => Promise.resolve()) as typeof test) : test
