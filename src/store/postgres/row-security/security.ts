/**
 * On whose behalf a statement runs, as the policies of `schema/row-security.ts` read it: settings that end with the
 * transaction. Where nothing is set, no row is seen.
 */
import type { GuardedWrite } from '../../../plan/guarded.ts'
import { isAnonymous, type Principal } from '../../../principal.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { lockedPostgres, postgres } from '../../sql/postgres.ts'
import { type Actor, type Inputs, service } from '../../values.ts'
import type { Ask, Purpose } from '../../write/steps.ts'
import type { Statement } from '../connections/statement.ts'

export interface Security {
  /** Whether rows are locked by policies. */
  readonly isOn: boolean
  readonly dialect: Dialect
  actor(principal: Principal): Actor | undefined
  /** What the statements of a write are run with. */
  inputsOf(plan: GuardedWrite): (ask: Ask<Statement>) => Inputs
}

export const settings = ['service', 'actor', 'user_id', 'role', 'scopes', 'writing'].map(
  name => `portico.${name}`,
)
const WRITING = 5

export const nobody: Actor = ['', '', '', '', '', '']
/** No collection has this name. */
const nowhere = '-'

export const unlocked: Security = {
  isOn: false,
  dialect: postgres,
  actor: () => undefined,
  inputsOf: () => ask => ask.inputs,
}

export const locked: Security = {
  isOn: true,
  dialect: lockedPostgres,
  actor: actorOf,
  inputsOf({ principal, shape }) {
    const caller = actorOf(principal)
    const actors: Readonly<Record<Purpose, Actor>> = {
      service,
      // A change must see all rows of its collection, to return what it has written; and what it refers to, whatever the scopes.
      change: caller.with(WRITING, shape.collection.name),
      references: caller.with(WRITING, nowhere),
    }
    return ({ inputs, purpose }) => {
      if (inputs.actor !== undefined) return inputs
      return { ...inputs, actor: purpose === undefined ? caller : actors[purpose] }
    }
  },
}

function actorOf({ userId, access }: Principal): Actor {
  const { system, signedIn, role, scopes } = access
  if (system) return service
  const kind = signedIn ? 'user' : isAnonymous(access) ? 'anonymous' : 'app'
  // They are separated by spaces, and none that is known has one.
  const listed = scopes === 'all' ? '*' : [...scopes].filter(scope => !scope.includes(' ')).join(' ')
  return ['', kind, userId === null ? '' : String(userId), role ?? '', listed, '']
}
