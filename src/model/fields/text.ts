import { declared, type FieldDeclaration } from './declared.ts'
import { lengthFaults, type TextualOptions, textSchema, textual, textualChecks } from './textual.ts'

/** A pattern may take long over a long text, so a text that has one is bounded. */
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
