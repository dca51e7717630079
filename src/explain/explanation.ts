/** What an explanation says. `docs/explain.md` describes it. */
/** One part of a rule, as it is for one item. */
export interface RulePart {
  /** As a model file has it: `owner('author_id')`. */
  readonly rule: string
  /** Null: it was not looked at, because there is no item to look at. */
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
  /** Of GraphQL: where in the reply; of several items of a list, the first. */
  readonly path?: readonly (string | number)[]
  /** Of events: the types that are heard, or not. */
  readonly types?: readonly string[]
  /** The scope that is needed, and those that the credential has. */
  readonly scope?: string
  readonly scopes?: readonly string[]
  /** As a model file has it, and in words. */
  readonly rule?: string
  readonly words?: string
  readonly parts?: readonly RulePart[]
}

export interface Explanation {
  readonly allowed: boolean
  /** Of the answer that the request would get. */
  readonly status: number
  /** Of the error; null where it is allowed. */
  readonly code: string | null
  /** The error's message; null where it is allowed. */
  readonly message: string | null
  readonly as: {
    readonly user: number | null
    /** Null where the asker may not read it. */
    readonly role: string | null
    readonly scopes: 'all' | readonly string[]
  }
  readonly request: { readonly method: string; readonly path: string }
  readonly reasons: readonly Reason[]
  /** What else one should know, e.g. that the code of an action ran. */
  readonly notes: readonly string[]
}
