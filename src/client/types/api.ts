/** What the client knows of a service: a model's type becomes it, and `portico generate client` writes it. */

/**
 * A service, by name: `interface Api { collections: { tasks: TasksTypes }; actions: {}; queries: {} }`. The members are
 * `object`, since TypeScript does not let an interface stand for a `Record`: each is a `CollectionTypes` or an
 * `OperationTypes`.
 */
export interface ApiTypes {
  readonly collections: object
  /** Actions without a collection. */
  readonly actions: object
  readonly queries: object
}

export interface CollectionTypes {
  /** The name of one item, which begins the types of events: `task`. */
  readonly singular: string
  /** What a read gives unless it names `fields`. A field that not every reader may read is optional, and may be null. */
  readonly item: object
  /** Fields that are given only where `fields` names them. `{}`: none. */
  readonly computed: object
  /** What only the answer to a create has, once: the `key` of an API key. Left out: nothing. */
  readonly revealed?: object
  /** The body of POST and PUT. */
  readonly create: object
  /** The body of PATCH. */
  readonly update: object
  /** Relations to one item, each with its collection: `{ project: 'projects' }`. */
  readonly one: object
  /** Relations to several items: `{ comments: 'comments' }`. */
  readonly many: object
  /** Each an `OperationTypes`. */
  readonly actions: object
  /** Events that actions emit, each with its values: `{ 'project.archived': { dropped: number } }`. */
  readonly emits: object
}

/** An action or a query. */
export interface OperationTypes {
  /** `'item'`: it is done to an item, whose id is the first argument. */
  readonly target: 'item' | 'collection' | 'none'
  /** An item is sent as its id. `{}`: it takes no input. */
  readonly input: object
  /** `undefined`: it answers with nothing. */
  readonly output: unknown
}

/** A member of a type of which it is not known that it has it. */
export type At<T, K> = K extends keyof T ? T[K] : never

export type CollectionOf<A extends ApiTypes, N> = At<A['collections'], N>
export type NameOf<A extends ApiTypes> = keyof A['collections'] & string

export type Flat<T> = { [K in keyof T]: T[K] }
