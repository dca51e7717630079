/** How many times a writing process is killed: in every test run, and before a release. */
export const rounds = { test: 20, release: 200 } as const

/** `PORTICO_KILL_ROUNDS=release` asks for the many. */
export function killRounds(): number {
  return process.env.PORTICO_KILL_ROUNDS === 'release' ? rounds.release : rounds.test
}
