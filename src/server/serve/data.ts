/** The `data` of a service, for programs that embed Portico. */

import { type Awaitable, then } from '../../base/awaitable.ts'
import { ApiError } from '../../base/errors.ts'
import { type Principal, service, user } from '../../base/principal.ts'
import { createData, type DataParts, executeBy, withMembers } from '../../engine/logic/data/create-data.ts'
import type { ActionFunctions, CollectionData, DataOf, Transactional } from '../../engine/logic/data/data.ts'
import { ReadMemory } from '../../engine/logic/data/read-memory.ts'
import { admittedCall, createActions } from '../../engine/logic/operations/actions.ts'
import type { OperationParts } from '../../engine/logic/operations/call.ts'
import { runAction } from '../../engine/logic/operations/run-action.ts'
import { runTransaction, transactionIsOpen } from '../../engine/logic/operations/transaction.ts'
import type { Run } from '../../engine/plan/run.ts'
import { findUser } from '../../identity/accounts/users.ts'
import type { Model } from '../../model/model.ts'
import type { Transports } from './transports/transports.ts'
import type { UserReference } from './typed.ts'

/** The `data` of one principal. */
export type PrincipalData = DataOf & Transactional

/** The items as the service itself, to which no rule applies. */
export type ServiceData = PrincipalData & {
  /**
   * The items as a user, with every scope and the role that the user has at the time of each call. Calls reject with
   * NOT_FOUND if the user does not exist, and with FORBIDDEN while the account is disabled.
   */
  as(user: UserReference): PrincipalData
}

/** The actions as the service itself. */
export type ServiceActions = ActionFunctions & {
  /** The actions as a user: see `ServiceData`. */
  as(user: UserReference): ActionFunctions
}

/**
 * The principal of a user with their present role and every scope. Rejects with NOT_FOUND for an unknown user, and with
 * FORBIDDEN for a disabled one: a program that signs users in by itself may not know that the account is disabled.
 */
export async function presentUser(run: Run, reference: UserReference): Promise<Principal> {
  const id = typeof reference === 'object' ? reference?.id : reference
  const account = Number.isSafeInteger(id) ? await findUser(run, id) : undefined
  if (account === undefined) throw new ApiError('NOT_FOUND', `There is no user with the id ${id}.`)
  if (account.disabled) throw new ApiError('FORBIDDEN', `The account ${id} is disabled: it cannot be used.`)
  return user(id, account.role, 'all')
}

/**
 * Runs each call separately, like a request of the principal. `refresh` makes commits of other nodes visible first.
 */
export function dataParts(
  model: Model,
  { run, hooks, logic, lostUpdates }: Pick<Transports, 'run' | 'hooks' | 'logic' | 'lostUpdates'>,
  refresh: () => Awaitable<void>,
): DataParts {
  const execute = executeBy(run, logic.limits)
  const reads = new ReadMemory(update => lostUpdates.report('service.data', update), maxReadAgeMs)
  return {
    model,
    hooks,
    reads,
    execute: (work, principal) => then(refresh(), () => execute(work, principal)),
  }
}

/** How long a program may take from a read to a write that depends on it, for a lost update to be told. */
const maxReadAgeMs = 10_000

/** What a program uses. */
export interface ProgramTools {
  readonly data: ServiceData
  readonly actions: ServiceActions
}

export function programTools(parts: DataParts, logic: OperationParts, run: Run): ProgramTools {
  let isWithin = false
  const within = (work: () => void) => {
    isWithin = true
    try {
      work()
    } finally {
      isWithin = false
    }
  }
  /** It would not take part in the transaction whose code runs, which would wait for it in vain. */
  const requireOutside = () => {
    if (isWithin) throw transactionIsOpen()
  }
  const execute: DataParts['execute'] = (plan, as) => {
    requireOutside()
    return parts.execute(plan, as)
  }
  const transactional = (principal: Principal): PrincipalData => {
    const data = createData({ ...parts, execute }, principal)
    const transaction: Transactional['transaction'] = async code => {
      requireOutside()
      parts.reads?.clear()
      return runTransaction(logic, run, { place: 'service.data', isDeclared: false, principal, code, within })
    }
    return withMembers(data, { transaction })
  }
  const present = async (reference: UserReference) => {
    requireOutside()
    return presentUser(run, reference)
  }
  const actionsOf = (caller: () => Awaitable<Principal>) =>
    createActions(parts.model, async (action, args) => {
      requireOutside()
      parts.reads?.clear()
      return runAction(logic, run, admittedCall(parts.model, action, args, await caller()))
    })
  const dataOf = (user: UserReference) => dataAs(parts.model, async () => transactional(await present(user)))
  return {
    data: withMembers(transactional(service), { as: dataOf }) as unknown as ServiceData,
    actions: withMembers(
      actionsOf(() => service),
      { as: (user: UserReference) => actionsOf(() => present(user)) },
    ) as unknown as ServiceActions,
  }
}

/** The collections by name. Each call uses the `data` that `open` returns at that time. */
export function dataAs(model: Model, open: () => Promise<PrincipalData>): PrincipalData {
  const names = [...model.collections.keys()]
  const collections = Object.fromEntries(names.map(name => [name, openedAtCall(name, open)]))
  const transaction: Transactional['transaction'] = async code => (await open()).transaction(code)
  return Object.freeze({ ...collections, transaction }) as PrincipalData
}

/** The actions by name. Each call uses the actions that `open` returns at that time. */
export function actionsAs(model: Model, open: () => Promise<ActionFunctions>): ActionFunctions {
  return createActions(model, async ({ name }, args) => (await open())[name]?.(...args))
}

function openedAtCall(name: string, open: () => Promise<DataOf>): CollectionData {
  const opened = async () => {
    const collection = (await open())[name]
    if (collection === undefined) throw new TypeError(`the model has no collection ${name}`)
    return collection
  }
  return Object.freeze({
    get: async (id, options) => (await opened()).get(id, options),
    first: async options => (await opened()).first(options),
    list: async options => (await opened()).list(options),
    all: async function* (options) {
      yield* (await opened()).all(options)
    },
    count: async where => (await opened()).count(where),
    create: async values => (await opened()).create(values),
    update: async (id, values, options) => (await opened()).update(id, values, options),
    delete: async (id, options) => (await opened()).delete(id, options),
    upsert: async (options, values) => (await opened()).upsert(options, values),
    updateWhere: async (where, values, options) => (await opened()).updateWhere(where, values, options),
    deleteWhere: async (where, options) => (await opened()).deleteWhere(where, options),
  } satisfies CollectionData)
}
