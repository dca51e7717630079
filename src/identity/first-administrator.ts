/** A separate file: the types of programs that serve a model lead here, and must not need those of Node. */

export interface FirstAdministrator {
  readonly email: string
  /** Undefined if the settings contain it: the operator knows it already. */
  readonly password: string | undefined
  readonly key: string | undefined
}
