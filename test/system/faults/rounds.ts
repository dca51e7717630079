/** How many times a writing process is killed: few in every test run, many before a release. */
export const rounds = { test: 20, release: 200 } as const

/** `PORTICO_KILL_ROUNDS=release` selects the many. */
export function killRounds(): number {
  return process.env.PORTICO_KILL_ROUNDS === 'release' ? rounds.release : rounds.test
}
