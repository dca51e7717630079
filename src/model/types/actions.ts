/** Calls of actions by the model's code and by programs. `C`: the model's collections; `A`: the actions. */
import type { ActionDeclaration } from '../logic/logic.ts'
import type { OutputIn } from './received.ts'
import type { InputArgument } from './run.ts'
import type { SentIn } from './sent.ts'

type Target<On> = [On] extends [never] ? [] : [id: number]

type CallOf<C, A> =
  A extends ActionDeclaration<infer Types>
    ? Types extends { readonly on: infer On; readonly input: infer In; readonly output: infer Out }
      ? (...args: [...Target<On>, ...InputArgument<SentIn<In>>]) => Promise<OutputIn<C, Out>>
      : never
    : never

/** Actions as functions. One on an item takes its id first. Those that only run time knows are not checked by the compiler. */
export type ActionCalls<C, A> = string extends keyof A
  ? // biome-ignore lint/suspicious/noExplicitAny: as above.
    any
  : { readonly [Name in keyof A]: CallOf<C, A[Name]> }

/** The actions as the caller, or with `asSystem` as the service. */
export type CallerActionCalls<C, A> = ActionCalls<C, A> & { readonly asSystem: ActionCalls<C, A> }
