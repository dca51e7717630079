/**
 * On whose behalf a statement runs, as the policies of `schema/row-security.ts` read it: settings that end with the
 * transaction. Where nothing is set, no row is seen.
 */
import { isAnonymous, type Principal } from '../../principal.ts'
import type { Dialect } from '../sql/dialect.ts'
import { lockedPostgres, postgres } from '../sql/postgres.ts'
import { type Actor, type Inputs, service } from '../values.ts'

export interface Security {
  /** Whether rows are locked by policies. */
  readonly isOn: boolean
  readonly dialect: Dialect
  actor(principal: Principal): Actor | undefined
  /**
   * For what a write needs to see besides: all rows of `collection`, to return what it has written; and what it refers
   * to whatever the scopes. Of a statement that only looks at references the collection is `nowhere`.
   */
  writing(inputs: Inputs, collection: string): Inputs
  /** For what Portico does by itself. */
  itself(inputs: Inputs): Inputs
}

export const settings = ['service', 'actor', 'user_id', 'role', 'scopes', 'writing'].map(
  name => `portico.${name}`,
)
const WRITING = 5

export const nobody: Actor = ['', '', '', '', '', '']
/** No collection has this name. */
export const nowhere = '-'

export const unlocked: Security = {
  isOn: false,
  dialect: postgres,
  actor: () => undefined,
  writing: inputs => inputs,
  itself: inputs => inputs,
}

export const locked: Security = {
  isOn: true,
  dialect: lockedPostgres,
  actor({ userId, access }) {
    const { system, signedIn, role, scopes } = access
    if (system) return service
    const kind = signedIn ? 'user' : isAnonymous(access) ? 'anonymous' : 'app'
    // They are separated by spaces, and none that is known has one.
    const listed = scopes === 'all' ? '*' : [...scopes].filter(scope => !scope.includes(' ')).join(' ')
    return ['', kind, userId === null ? '' : String(userId), role ?? '', listed, '']
  },
  writing: (inputs, collection) => ({
    ...inputs,
    actor: (inputs.actor ?? nobody).with(WRITING, collection),
  }),
  itself: inputs => ({ ...inputs, actor: service }),
}
