/** Names within statements that define tables. */

export { literal } from '../../../model/fields/encoding.ts'

/** An identifier of the model, quoted. */
export function ident(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
