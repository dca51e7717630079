/** The functions of a model file. `checkModel` checks what they return. */
import type { UserFields } from './builtin/fields.ts'
import type { ComputedDeclaration } from './computed/computed.ts'
import type {
  AnyCollections,
  CollectionDeclaration,
  CollectionOptions,
  CrudOperation,
  Declaration,
  IndexDeclaration,
  ManyToManyDeclaration,
} from './declared-model.ts'
import type {
  FieldDeclaration,
  FieldDeclarations,
  FieldNarrowing,
  ReferenceTrait,
} from './fields/declared.ts'
import { joinedLogic } from './joined-logic.ts'
import type { LimitDeclaration, LogicDeclaration } from './logic/logic.ts'
import type { CheckedCollections, CheckedLogic } from './types/faults.ts'
import type { ChecksIn } from './types/logic.ts'
import type { FieldRulesIn, OwnRow } from './types/row.ts'
import type { AccessRule } from './types/rule.ts'
import type { EarlierOf } from './types/run.ts'
import type { FaultField, TypedCheck, TypedPrepare } from './types/write.ts'

export type { CollectionDeclaration, CollectionOptions, Declaration, IndexDeclaration, ManyToManyDeclaration }

/** Options with the same meaning in all collections. */
type PlainOptions<F extends FieldDeclarations, U extends boolean> = Omit<
  CollectionOptions<F, U>,
  'fields' | 'singular' | 'relations' | 'access' | 'computed' | 'prepare' | 'check' | 'limits'
>

/** Options whose types depend on the collection's own fields. */
interface TypedOptions<Own, U, R, A, K, L, N> {
  readonly relations?: R
  /** Operations without a rule are for administrators only. */
  readonly access?: A
  /** Read-only fields that the database computes. */
  readonly computed?: K
  /** Returns values to set in an item that is about to be written. Pure and synchronous. */
  readonly prepare?: TypedPrepare<Own, U>
  /** Returns the faults of an item that is about to be written. Pure and synchronous. */
  readonly check?: TypedCheck<Own, U, N>
  /** Cardinality limits. */
  readonly limits?: L
}

interface DefinedCollection<F extends FieldDeclarations, U extends boolean, S, R, A, K, L, N>
  extends PlainOptions<F, U>,
    TypedOptions<F, U, R, A, K, L, N> {
  readonly fields: F
  /** The name of one item. Required only where it cannot be derived from the collection's name. */
  readonly singular?: S
}

type Access<Row> = { readonly [operation in CrudOperation]?: AccessRule<Row> }
type Joins = Readonly<Record<string, ManyToManyDeclaration>>
type Computed<Row> = Readonly<Record<string, ComputedDeclaration<unknown, Row>>>
type Limits<Row> = readonly LimitDeclaration<Row>[]
type None = Record<never, never>

type RuleOf<Part> = Part extends ComputedDeclaration<unknown, infer Needs> | LimitDeclaration<infer Needs>
  ? AccessRule<Needs>
  : never

interface TraitsOf<F, S, R, A, K, L extends readonly unknown[]> {
  readonly singular: S
  readonly relations: R
  readonly computed: K
  /** All its rules, as a union. */
  readonly rules: Exclude<A[keyof A], undefined> | FieldRulesIn<F> | RuleOf<K[keyof K]> | RuleOf<L[number]>
}

/**
 * A model. The keys are the names of the collections: plural, in snake_case. `logic`: actions, queries, reactions, jobs and routes.
 * `furtherLogic`: more logic, in which `later` and `actions` are typed by the jobs and actions of `logic`. Throws a `ModelError` if both declare a name.
 */
export function model<
  const C extends AnyCollections,
  const L extends LogicDeclaration<C> = Record<never, never>,
  const M extends LogicDeclaration<C, EarlierOf<L>> = Record<never, never>,
>(
  collections: C & NoInfer<CheckedCollections<C>>,
  logic: L & ChecksIn<C> & NoInfer<CheckedLogic<C, L, M>> = {} as L & ChecksIn<C> & CheckedLogic<C, L, M>,
  furtherLogic: M & ChecksIn<C> & NoInfer<CheckedLogic<C, M, L>> = {} as M &
    ChecksIn<C> &
    CheckedLogic<C, M, L>,
): Declaration<C, L & M> {
  return Object.freeze({ kind: 'model', collections, logic: joinedLogic(logic, furtherLogic) as L & M })
}

/** A collection of items. Every item also has an `id` and a `created_at`. */
export function collection<
  const F extends FieldDeclarations,
  const U extends boolean = false,
  const S extends string = string,
  const R extends Joins = None,
  const A extends Access<OwnRow<F, U>> = None,
  const K extends Computed<OwnRow<F, U>> = None,
  const L extends Limits<OwnRow<F, U>> = readonly [],
  const N extends FaultField<F> = never,
>(
  options: DefinedCollection<F, U, S, R, A, K, L, N>,
): CollectionDeclaration<F, U, TraitsOf<F, S, R, A, K, L>> {
  return Object.freeze({
    kind: 'collection',
    extends: undefined,
    options: options as unknown as CollectionOptions<F, U>,
  })
}

/** Fields of `users`: new ones, and built-in ones that are narrowed. */
type UsersFields = Readonly<Record<string, FieldDeclaration | FieldNarrowing>>

/** A built-in field with the options that narrow it. */
type NarrowedField<Field, Options> =
  Field extends FieldDeclaration<infer Value, object, infer Trait>
    ? FieldDeclaration<Value, Options & object, Trait>
    : never

type DeclaredUsers<F> = {
  readonly [K in keyof F]: F[K] extends FieldDeclaration
    ? F[K]
    : NarrowedField<K extends keyof UserFields ? UserFields[K] : never, F[K]>
}

type AllUserFields<F> = Omit<UserFields, keyof F> & DeclaredUsers<F>
type UsersRow<F, U> = OwnRow<AllUserFields<F>, U, ReferenceTrait<'users'>>

interface DefinedUsers<F extends UsersFields, U extends boolean, R, A, K, L, N>
  extends Omit<PlainOptions<FieldDeclarations, U>, 'renamedFrom' | 'deprecated' | 'personal'>,
    TypedOptions<AllUserFields<F>, U, R, A, K, L, N> {
  /** New fields, and rules and descriptions of built-in ones: `email: { access: { read: owner('id') } }`. */
  readonly fields?: F
}

/** Extends the built-in collection of accounts. */
export function users<
  const F extends UsersFields = None,
  const U extends boolean = false,
  const R extends Joins = None,
  const A extends Access<UsersRow<F, U>> = None,
  const K extends Computed<UsersRow<F, U>> = None,
  const L extends Limits<UsersRow<F, U>> = readonly [],
  const N extends FaultField<AllUserFields<F>> = never,
>(
  options: DefinedUsers<F, U, R, A, K, L, N> = {},
): CollectionDeclaration<DeclaredUsers<F>, U, TraitsOf<DeclaredUsers<F>, 'user', R, A, K, L>> {
  const fields = options.fields ?? {}
  const collectionOptions = { ...options, fields } as unknown as CollectionOptions<DeclaredUsers<F>, U>
  return Object.freeze({ kind: 'collection', extends: 'users', options: collectionOptions })
}

/** A relation through a join collection, whose fields `from` and `to` hold the two ids. */
export function manyToMany<const Target extends string>(
  target: Target,
  join: { readonly through: string; readonly from: string; readonly to: string },
): ManyToManyDeclaration<Target> {
  return Object.freeze({ kind: 'manyToMany', target, ...join })
}

/**
 * An index over these fields, in this order. A `-` before a name makes the field descend, as in `?sort=`. The index
 * serves lists that filter by its first fields and sort by the next ones, in this direction or its exact reverse.
 */
export function index(...fields: readonly string[]): IndexDeclaration {
  return Object.freeze({ kind: 'index', fields, unique: false })
}

/** No two items have the same values in all these fields. Items that lack one of them are exempt. */
export function unique(...fields: readonly string[]): IndexDeclaration {
  return Object.freeze({ kind: 'index', fields, unique: true })
}
