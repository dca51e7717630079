import { caseCount } from '../../cases.ts'

/** How many times a writing process is killed. `PORTICO_KILL_ROUNDS=release` selects many. */
export function killRounds(): number {
  return process.env.PORTICO_KILL_ROUNDS === 'release' ? 200 : caseCount(20, 8)
}
