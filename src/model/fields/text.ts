import { declared, type FieldDeclaration } from './declared.ts'
import { lengthFaults, type TextualOptions, textSchema, textual, textualChecks } from './textual.ts'

/** Matching a pattern against a long text may take long, so a text with a pattern is bounded. */
const maxWithPattern = 1000

/**
 * Text of any number of lines. Its length is limited by `max`, and without it only by the limit of request bodies; with a
 * `pattern` and without a `max`, it is at most 1,000 characters.
 */
export function text<const O extends TextualOptions>(options?: O): FieldDeclaration<string, O> {
  const defaultMax = options?.pattern === undefined ? undefined : maxWithPattern
  return declared({
    type: textual({ name: 'text', schema: textSchema(options, defaultMax) }),
    options,
    checks: textualChecks,
    faults: lengthFaults(options, defaultMax),
  })
}
