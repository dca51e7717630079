import { singleLine } from '../json-schema/patterns.ts'
import { declared, type FieldDeclaration } from './declared.ts'
import {
  lengthFaults,
  storableText,
  type TextualOptions,
  textOr,
  textSchema,
  textual,
  textualChecks,
} from './textual.ts'
import type { JsonValue } from './type.ts'

const defaultMax = 255

const lineBreak = /[\r\n]/

function requireLine(value: JsonValue): string {
  const text = storableText(value)
  if (lineBreak.test(text)) throw new RangeError('The text must be a single line.')
  return text
}

/** One line of text. The default of `max` is 255 characters. */
export function string<const O extends TextualOptions>(options?: O): FieldDeclaration<string, O> {
  const schema = { pattern: singleLine, ...textSchema(options, defaultMax) }
  return declared({
    type: textual({ name: 'string', schema, canonical: requireLine, fromText: textOr(storableText) }),
    options,
    checks: textualChecks,
    faults: lengthFaults(options, defaultMax),
  })
}
