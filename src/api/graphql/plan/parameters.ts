/** The parameters of a plan, and how they are read from the variables of a request. */
import { GraphQLError, type ValueNode } from 'graphql'
import { ApiError } from '../../../base/errors.ts'
import type { Param } from '../../../engine/plan/plan.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import { badRequest } from '../bad-request.ts'
import type { Input, Variables } from './input.ts'

/** Returns the argument for one parameter of a plan. Throws a `GraphQLError` when the variables contain no valid value. */
export type Getter = (variables: Variables) => JsonValue

/** In points. */
export type Cost = (variables: Variables) => number

export const noCost: Cost = () => 0

export function sumOfCosts(costs: readonly Cost[]): Cost {
  const nonZero = costs.filter(cost => cost !== noCost)
  if (nonZero.length === 0) return noCost
  return variables => nonZero.reduce((points, cost) => points + cost(variables), 0)
}

/** Conditions in all filters of one operation. */
const maxConditions = 100

export class PlanParameters {
  readonly #getters: Getter[] = []
  #conditions = 0

  add(getter: Getter): Param {
    return this.#getters.push(getter) - 1
  }

  /** A parameter whose value is known only when the plan runs. */
  placeholder(): Param {
    return this.add(() => null)
  }

  get getters(): readonly Getter[] {
    return this.#getters
  }

  countCondition(node: ValueNode): void {
    if (++this.#conditions <= maxConditions) return
    const message = `The filters have more than ${maxConditions} conditions; at most ${maxConditions} are allowed.`
    throw badRequest(message, node)
  }
}

/** Reads an input in its canonical form. A value that `canonical` refuses is an error at the input. */
export function createGetter(input: Input, canonical: (value: unknown) => JsonValue): Getter {
  const read = input.kind === 'leaf' || input.kind === 'list' ? input.read : () => null
  return variables => withLocation(input.node, () => canonical(read(variables)))
}

/** Returns what `compute` returns. Turns its `ApiError` or `RangeError` into an error located at the node. */
export function withLocation<T>(node: ValueNode, compute: () => T): T {
  try {
    return compute()
  } catch (error) {
    if (error instanceof RangeError) throw badRequest(error.message, node)
    if (!(error instanceof ApiError)) throw error
    throw new GraphQLError(error.message, { nodes: node, extensions: { code: error.code } })
  }
}

/** For arguments whose null means the same as no argument. */
export function unlessNull(input: Input | undefined): Input | undefined {
  return input?.kind === 'null' ? undefined : input
}

/** Returns a function that reads the most items of a list, and throws for a number outside the bound. */
export function limitOf(
  name: string,
  input: Input | undefined,
  defaultSize: number,
  bound: number,
): (variables: Variables) => number {
  if (input?.kind !== 'leaf') return () => defaultSize
  return variables => {
    const size = Number(input.read(variables))
    if (size >= 0 && size <= bound) return size
    throw badRequest(`The argument "${name}" is ${size}; it must be from 0 to ${bound}.`, input.node)
  }
}
