/** The form of an explanation: see `docs/explain.md`. */

/** One part of a rule, evaluated for one item. */
export interface RulePart {
  /** As in a model file: `owner('author_id')`. */
  readonly rule: string
  /** Null if it depends on an item, and the request names none. */
  readonly holds: boolean | null
  /** Why, with the values that decide: `author_id is 5, the caller is 3`. */
  readonly because?: string
  readonly parts?: readonly RulePart[]
}

export type ReasonKind =
  | 'rule'
  | 'scope'
  | 'field'
  | 'credential'
  | 'hidden'
  | 'missing'
  | 'limit'
  | 'validation'
  | 'request'
  /** The code of an action or a query has failed. */
  | 'code'

export interface Reason {
  readonly kind: ReasonKind
  /** A whole sentence. */
  readonly message: string
  readonly collection?: string
  readonly operation?: string
  readonly id?: number
  readonly fields?: readonly string[]
  /** For GraphQL: the path in the reply; for several items of a list, that of the first one. */
  readonly path?: readonly (string | number)[]
  /** For events: the types that the listener receives, or does not. */
  readonly types?: readonly string[]
  /** The scope that is needed, and those that the credential has. */
  readonly scope?: string
  readonly scopes?: readonly string[]
  /** As in a model file, and in words. */
  readonly rule?: string
  readonly words?: string
  readonly parts?: readonly RulePart[]
}

/** A limit from which the request draws. */
export interface ExplainedLimit {
  /** `user`, `app` (all users of the app together), `address`, or `route` (all callers of it together). */
  readonly name: string
  /** How many requests in so many seconds. */
  readonly requests: number
  readonly seconds: number
}

export interface Explanation {
  readonly allowed: boolean
  /** The status of the response that the request would get; null if the code of a route decides it. */
  readonly status: number | null
  /** The error's code; null if the request is allowed. */
  readonly code: string | null
  /** The error's message; null if the request is allowed. */
  readonly message: string | null
  readonly as: {
    readonly user: number | null
    /** Null if the viewer may not read it. */
    readonly role: string | null
    readonly scopes: 'all' | readonly string[]
  }
  readonly request: { readonly method: string; readonly path: string }
  readonly reasons: readonly Reason[]
  /** Empty if nothing is limited, or no credential of the user is accepted. */
  readonly limits: readonly ExplainedLimit[]
  /** Further facts, e.g. that the code of an action ran. */
  readonly notes: readonly string[]
}
