/**
 * On whose behalf a statement runs, as the policies of `policies.ts` read it: settings that end with the transaction. If
 * nothing is set, no row is visible.
 */

import { type Claims, isAnonymous, type Principal } from '../../../../base/principal.ts'
import type { Collection } from '../../../../model/model.ts'
import type { GuardedWrite } from '../../../plan/guarded.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { postgres, rowSecurityPostgres } from '../../sql/postgres.ts'
import { type Actor, type Inputs, serviceActor } from '../../values.ts'
import type { Purpose, StepQuery } from '../../write/steps.ts'
import type { Statement } from '../connections/statement.ts'

export interface Security {
  /** Whether row security is on. */
  readonly isOn: boolean
  readonly dialect: Dialect
  /** `outputs`: the collections of items that the principal may read as the output of an operation, without their scope. */
  actor(principal: Principal, outputs?: readonly Collection[]): Actor | undefined
  /** The inputs of a write's statements. */
  inputsOf(plan: GuardedWrite): (ask: StepQuery<Statement>) => Inputs
}

const names = [
  'service',
  'actor',
  'user_id',
  'role',
  'scopes',
  'writing',
  'claims',
  'now',
  'third_party',
  'app_id',
]
export const settings = names.map(name => `portico.${name}`)
const WRITING = 5

export const noActor: Actor = settings.map(() => '')
/** No collection has this name. */
const noCollection = '-'

export const noSecurity: Security = {
  isOn: false,
  dialect: postgres,
  actor: () => undefined,
  inputsOf: () => ask => ask.inputs,
}

/** `clock`: the value of `now` in rules; omitted: the database's own clock. */
export function createSecurity(clock?: () => number): Security {
  const actor = (principal: Principal, outputs: readonly Collection[] = []) =>
    actorOf(principal, clock?.(), outputs)
  return {
    isOn: true,
    dialect: rowSecurityPostgres,
    actor,
    inputsOf: plan => inputsOf(plan, actor(plan.principal)),
  }
}

export const enforcedSecurity = createSecurity()

/** The inputs of a write's statements. `caller`: on whose behalf it runs. */
function inputsOf({ shape }: GuardedWrite, caller: Actor): (ask: StepQuery<Statement>) => Inputs {
  const actors: Readonly<Record<Purpose, Actor>> = {
    service: serviceActor,
    // A change must see all rows of its collection, to return its own row, and the rows that it refers to, whatever the scopes.
    change: caller.with(WRITING, shape.collection.name),
    references: caller.with(WRITING, noCollection),
  }
  return ({ inputs, purpose }) => {
    if (inputs.actor !== undefined) return inputs
    return { ...inputs, actor: purpose === undefined ? caller : actors[purpose] }
  }
}

function actorOf(
  { userId, access, claims, app }: Principal,
  now: number | undefined,
  outputs: readonly Collection[],
): Actor {
  const { system, signedIn, role, scopes, thirdParty } = access
  if (system) return serviceActor
  const kind = signedIn ? 'user' : isAnonymous(access) ? 'anonymous' : 'app'
  // Scopes are separated by spaces, and no known scope contains one.
  const known = scopes === 'all' ? ['*'] : [...scopes].filter(scope => !scope.includes(' '))
  const scopeList = [...known, ...outputs.map(({ singular }) => `read:${singular}`)].join(' ')
  const nowText = now === undefined ? '' : new Date(now).toISOString()
  const claimsJson = claims === undefined ? '' : claimsText(claims)
  return [
    ...['', kind, idText(userId), role ?? '', scopeList, '', claimsJson, nowText],
    ...[thirdParty ? 'yes' : '', idText(app?.id)],
  ]
}

function idText(id: number | null | undefined): string {
  return String(id ?? '')
}

function claimsText({ values }: Claims): string {
  return JSON.stringify(Object.fromEntries(values))
}
