import type { Encoding } from '../../model/fields/encoding.ts'

/** How a column is added up. The guard asks for no sum of a type that has none. */
export function summed({ sum }: Encoding['sqlite'] | Encoding['postgres']): (column: string) => string {
  if (sum === undefined) throw new TypeError('values of this type have no sum')
  return sum
}
