import { declared, type FieldDeclaration } from './declared.ts'
import { lengthFaults, type TextualOptions, textSchema, textual, textualChecks } from './textual.ts'

/** Text of any number of lines, as long as a request's body may be unless `max` says otherwise. */
export function text<const O extends TextualOptions>(options?: O): FieldDeclaration<string, O> {
  return declared({
    type: textual({ name: 'text', schema: textSchema(options) }),
    options,
    checks: textualChecks,
    faults: lengthFaults(options),
  })
}
