import type { Encoding } from '../../../model/fields/encoding.ts'

/** The SQL of a column's sum. The guard refuses sums of types without one. */
export function sumFunction({ sum }: Encoding['sqlite'] | Encoding['postgres']): (column: string) => string {
  if (sum === undefined) throw new TypeError('values of this type have no sum')
  return sum
}
