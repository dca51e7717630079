/** The types of a service: derived from a model's type, or written by `portico generate client`. */

/**
 * The types of a service: `interface Api { collections: { tasks: TasksTypes }; actions: {}; queries: {} }`. The members are
 * `object`, because TypeScript does not accept an interface as a `Record`: each member of them is a `CollectionTypes` or an
 * `OperationTypes`.
 */
export interface ApiTypes {
  readonly collections: object
  /** Actions without a collection. */
  readonly actions: object
  readonly queries: object
}

/** The types of one collection. */
export interface CollectionTypes {
  /** The name of one item, with which event types begin: `task`. */
  readonly singular: string
  /** An item, as a read without `fields` returns it. A field that not every reader may read is optional, and may be null. */
  readonly item: object
  /** Fields that are returned only if `fields` names them. `{}`: none. */
  readonly computed: object
  /** The members that only the response to a create contains, e.g. the `key` of an API key. Default: none. */
  readonly revealed?: object
  /** The body of POST and PUT. */
  readonly create: object
  /** The body of PATCH. */
  readonly update: object
  /** Relations to one item, each with its collection: `{ project: 'projects' }`. */
  readonly one: object
  /** Relations to several items: `{ comments: 'comments' }`. */
  readonly many: object
  /** The actions, each an `OperationTypes`. */
  readonly actions: object
  /** Events that actions emit, each with its values: `{ 'project.archived': { dropped: number } }`. */
  readonly emits: object
}

/** An action or a query. */
export interface OperationTypes {
  /** `'item'`: the operation is called on an item, whose id is the first argument. */
  readonly target: 'item' | 'collection' | 'none'
  /** Items are sent as their ids. `{}`: no input. */
  readonly input: object
  /** `undefined`: no output. */
  readonly output: unknown
}

/** The type of a member that `T` may lack. */
export type At<T, K> = K extends keyof T ? T[K] : never

export type CollectionOf<A extends ApiTypes, N> = At<A['collections'], N>
export type NameOf<A extends ApiTypes> = keyof A['collections'] & string

export type Flat<T> = { [K in keyof T]: T[K] }
