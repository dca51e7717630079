/** Assertions about types, which the compiler checks. */

export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** Compiles only for `true`. */
export const same = <T extends true>(value: T): T => value

/** Compiles only if the value has exactly this type. */
export const is =
  <Expected>() =>
  <const Given>(_value: Given, ..._: Equal<Given, Expected> extends true ? [] : [never]) => {}
