import type { FieldType } from './field-type.ts'

/** A code point takes at most four bytes. */
const bytesPerCharacter = 4

/** The maximum size of a stored value, in bytes of UTF-8; Infinity for a type that bounds no length. */
export function maxBytesOf({
  encoding,
  schema = {},
}: Pick<FieldType, 'encoding'> & Partial<FieldType>): number {
  if (encoding.maxBytes !== undefined) return encoding.maxBytes
  const { enum: choices, maxLength, format } = schema
  if (Array.isArray(choices))
    return Math.max(...choices.map(choice => bytesPerCharacter * String(choice).length))
  if (format === 'uuid') return 36
  return typeof maxLength === 'number' ? bytesPerCharacter * maxLength : Number.POSITIVE_INFINITY
}
