import { declared, type FieldDeclaration } from './declared.ts'
import { lengthFaults, type TextualOptions, textSchema, textual, textualChecks } from './textual.ts'

/** Matching a pattern may take long for a long text, so a text with a pattern is bounded. */
const maxWithPattern = 1000

/**
 * Text of any number of lines, as long as a request's body may be unless `max` says otherwise; at most
 * 1,000 characters where there is a `pattern` without a `max`.
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
