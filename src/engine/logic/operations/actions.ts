/** `actions.name(input)`: the actions of a model as functions of its own code and of programs. */
import { ApiError } from '../../../base/errors.ts'
import { type Principal, serviceFor } from '../../../base/principal.ts'
import type { Action, Model } from '../../../model/model.ts'
import { didYouMean } from '../../../model/suggest.ts'
import { withMembers } from '../data/create-data.ts'
import type { ActionFunctions, CallerActionFunctions } from '../data/data.ts'
import { idOf } from '../data/plans.ts'
import { admitOperation } from './access.ts'
import type { OperationCall } from './call.ts'
import { checkedInput } from './input.ts'

/** `perform`: carries out a call, whose arguments are not checked yet. */
export function createActions(
  { logic: { actions } }: Model,
  perform: (action: Action, args: readonly unknown[]) => Promise<unknown>,
): ActionFunctions {
  return new Proxy(Object.freeze({}), {
    get(_, name) {
      const action = actions.get(String(name))
      if (action !== undefined) return (...args: unknown[]) => perform(action, args)
      // The object may be awaited, inspected or logged.
      if (typeof name === 'symbol' || name === 'then' || name === 'toJSON') return undefined
      return () => {
        throw new ApiError(
          'BAD_REQUEST',
          `There is no action \`${name}\`.${didYouMean(name, actions.keys())}`,
        )
      }
    },
  })
}

/** The actions as `caller`, and with `asSystem` as the service. `within`: the action that calls them. */
export function createCallerActions(
  model: Model,
  caller: Principal,
  perform: (action: Action, args: readonly unknown[], caller: Principal) => Promise<unknown>,
  within?: string,
): CallerActionFunctions {
  const actionsOf = (principal: Principal) =>
    createActions(model, (action, args) => perform(action, args, principal))
  const asSystem = actionsOf(serviceFor(caller, within))
  return withMembers(actionsOf(caller), { asSystem }) as CallerActionFunctions
}

/** The call, once access and input are checked as over the network. */
export function admittedCall(
  model: Model,
  action: Action,
  [first, second]: readonly unknown[],
  principal: Principal,
): OperationCall {
  admitOperation(model, action, principal)
  const isOnItem = action.target === 'item'
  const id = isOnItem ? idOf(first, `actions.${action.name}`) : undefined
  return { operation: action, id, input: checkedInput(action, (isOnItem ? second : first) ?? {}), principal }
}
