/** The arguments of a plan that is being made, and what the list arguments of GraphQL come to. */
import { GraphQLError, type ValueNode } from 'graphql'
import { ApiError } from '../errors.ts'
import type { JsonValue } from '../model/fields/type.ts'
import type { Param } from '../plan/plan.ts'
import type { Input, Variables } from './input.ts'
import { limitError } from './limits.ts'

/** Gives an argument of a plan for the variables of one request. Throws a `GraphQLError` when it has none. */
export type Getter = (variables: Variables) => JsonValue

/** Points, for the variables of one request. */
export type Cost = (variables: Variables) => number

export const free: Cost = () => 0

export function sum(costs: readonly Cost[]): Cost {
  const counted = costs.filter(cost => cost !== free)
  if (counted.length === 0) return free
  return variables => counted.reduce((points, cost) => points + cost(variables), 0)
}

/** The most conditions that the filters of one operation may have, and values that one may list. */
const MAX_CONDITIONS = 100
export const MAX_LISTED = 100

export class Parameters {
  readonly #getters: Getter[] = []
  #conditions = 0

  add(getter: Getter): Param {
    return this.#getters.push(getter) - 1
  }

  /** A place for a value that is known only when the plan runs. */
  hole(): Param {
    return this.add(() => null)
  }

  get getters(): readonly Getter[] {
    return this.#getters
  }

  countCondition(node: ValueNode): void {
    if (++this.#conditions <= MAX_CONDITIONS) return
    const message = `The filters have more than ${MAX_CONDITIONS} conditions; at most ${MAX_CONDITIONS} are allowed.`
    throw limitError(message, { nodes: node })
  }
}

/** Reads an input and makes it canonical; what `canonical` refuses is told where it stands. */
export function getterOf(input: Input, canonical: (value: unknown) => JsonValue): Getter {
  const read = input.kind === 'leaf' || input.kind === 'list' ? input.read : () => null
  return variables => located(input.node, () => canonical(read(variables)))
}

/** Runs `make`; an `ApiError` or a `RangeError` of it becomes an error at the node. */
export function located<T>(node: ValueNode, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (error instanceof RangeError) throw badRequest(error.message, node)
    if (!(error instanceof ApiError)) throw error
    throw new GraphQLError(error.message, { nodes: node, extensions: { code: error.code } })
  }
}

export function badRequest(message: string, node: ValueNode): GraphQLError {
  return new GraphQLError(message, { nodes: node, extensions: { code: 'BAD_REQUEST' } })
}

const idGrammar = /^[1-9][0-9]{0,15}$/

/** The id that an `ID` stands for; 0, which no item has, where it can be no item's. */
export function idOf(value: unknown): number {
  const text = String(value)
  const id = idGrammar.test(text) ? Number(text) : 0
  return Number.isSafeInteger(id) ? id : 0
}

/** A given argument: `null` is as good as none. */
export function given(input: Input | undefined): Input | undefined {
  return input?.kind === 'null' ? undefined : input
}

/** How many items a list may hold. Refuses figures beyond the bound. */
export function limitOf(
  name: string,
  input: Input | undefined,
  standard: number,
  bound: number,
): (variables: Variables) => number {
  if (input?.kind !== 'leaf') return () => standard
  return variables => {
    const figure = Number(input.read(variables))
    if (figure >= 0 && figure <= bound) return figure
    throw limitError(`The argument "${name}" is ${figure}; it must be from 0 to ${bound}.`, {
      nodes: input.node,
    })
  }
}
