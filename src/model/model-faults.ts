/** What the compiler finds wrong with a model's rules once it knows where relations lead. */
import type { IsUnknownModel, NeedsIn, RowIn } from './model-types.ts'

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
      : `The field ${Where}${K & string} does not have such a value`
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

/** What `model` demands of its collections besides being some. */
export type CheckedCollections<C> =
  IsUnknownModel<C> extends true ? unknown : { readonly [N in keyof C]: CheckedCollection<C, N> }
