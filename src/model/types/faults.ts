/** Faults of a model's rules that the compiler can find only once it knows the targets of relations. */
import type { ActionDeclaration, ReactionDeclaration } from '../logic/logic.ts'
import type { KnownPattern } from './logic.ts'
import type { IsUnknownModel, NeedsIn, RowIn } from './model.ts'

interface AnyRow {
  readonly fields: object
  readonly relations: object
  readonly caller: { readonly fields: object }
}

type Part<Needs, Name extends string> = Needs extends { readonly [K in Name]: infer Needed }
  ? Needed
  : Record<never, never>

type FieldFault<Needed, Row extends object, Where extends string> = {
  [K in keyof Needed]: K extends keyof Row
    ? Row[K] extends Needed[K]
      ? never
      : `The field ${Where}${K & string} has no values of the compared type`
    : `There is no field ${Where}${K & string}`
}[keyof Needed]

type RelationFault<Needed, Row extends object, Where extends string> = {
  [K in keyof Needed]: K extends keyof Row
    ? RuleFault<Needed[K], Row[K], `${Where}${K & string}.`>
    : `There is no relation ${Where}${K & string}`
}[keyof Needed]

type CallerFault<Needed, Row> = Row extends AnyRow
  ? FieldFault<Part<Needed, 'fields'>, Row['caller']['fields'], 'users.'>
  : never

/** A sentence for each need that the row does not meet. */
type RuleFault<Needs, Row, Where extends string> = Row extends AnyRow
  ?
      | FieldFault<Part<Needs, 'fields'>, Row['fields'], Where>
      | RelationFault<Part<Needs, 'relations'>, Row['relations'], Where>
      | CallerFault<Part<Needs, 'caller'>, Row>
  : never

/** The compiler shows `fault` where a collection's rules do not fit. */
type Faulty<Fault> = [Fault] extends [never] ? unknown : { readonly fault: Fault }

type CheckedCollection<C, N> =
  RowIn<C, N> extends NeedsIn<C, N>
    ? unknown
    : Faulty<RuleFault<NeedsIn<C, N>, RowIn<C, N>, `${N & string}.`>>

/** The constraint that `model` adds to the type of its collections. */
export type CheckedCollections<C> =
  IsUnknownModel<C> extends true ? unknown : { readonly [N in keyof C]: CheckedCollection<C, N> }

type ReactionsOf<L> = L extends { readonly reactions: infer R } ? R : Record<never, never>
type ActionsOf<L> = L extends { readonly actions: infer A } ? A : Record<never, never>

type TypesEmittedBy<A> = A extends ActionDeclaration<{ readonly emits: infer E }> ? keyof E : never

/** The types of events that the model's actions emit. */
type EmittedIn<L> = TypesEmittedBy<ActionsOf<L>[keyof ActionsOf<L>]>

type CheckedReaction<Reaction, Known> =
  Reaction extends ReactionDeclaration<infer Pattern>
    ? Faulty<Pattern extends Known ? never : `No event has the type ${Pattern & string}`>
    : unknown

type CheckedReactions<Reactions, Known> = {
  readonly [Name in keyof Reactions]: CheckedReaction<Reactions[Name], Known>
}

/** The constraint that `model` adds to a part of its logic. `Other`: the other part, whose events are known as well. */
export type CheckedLogic<C, L, Other> =
  IsUnknownModel<C> extends true
    ? unknown
    : {
        readonly reactions?: CheckedReactions<
          ReactionsOf<L>,
          KnownPattern<C> | EmittedIn<L> | EmittedIn<Other>
        >
      }
