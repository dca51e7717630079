/** A field of the model in a form. Its JSON Schema determines the kind of input. */
import type { JsonSchema } from '../../../model/fields/type.ts'
import { type FormFaults, type FormField, field, otherField } from '../components/form.ts'
import { type Html, html } from '../components/html.ts'

export interface AskedField {
  /** The name of the field in the form. */
  readonly name: string
  readonly label: string
  readonly schema: JsonSchema
  /** What was entered; undefined if nothing was yet. */
  readonly value: string | undefined
  /** Default: true. */
  readonly required?: boolean
}

/** The name of a model's field in a form. The prefix keeps it apart from the form's own fields. */
export function formName(name: string): string {
  return `field_${name}`
}

function checkbox({ name, label, value }: AskedField, faults: FormFaults): Html {
  const fault = faults.get(name)
  return html`<div class="field">
${fault !== undefined && html`<span class="fault" id="${name}-fault">${fault}</span>`}
<div class="choice"><input type="checkbox" id="${name}" name="${name}" value="yes"${value !== undefined && value !== '' && html` checked`}${fault !== undefined && html` aria-invalid="true" aria-describedby="${name}-fault"`}><label for="${name}">${label}</label></div>
</div>`
}

function choice(
  { name, label, value = '', required = true }: AskedField,
  options: readonly string[],
  faults: FormFaults,
): Html {
  const listed = options.map(
    option => html`<option value="${option}"${option === value && html` selected`}>${option}</option>`,
  )
  return otherField(
    {
      name,
      label,
      input: tied =>
        html`<select${tied}${required && html` required`}><option value="">${required ? 'Choose…' : 'None'}</option>${listed}</select>`,
    },
    faults,
  )
}

function longText(
  { name, label, value = '', required = true }: AskedField,
  max: unknown,
  faults: FormFaults,
): Html {
  const bound = typeof max === 'number' && html` maxlength="${max}"`
  return otherField(
    {
      name,
      label,
      input: tied =>
        html`<textarea${tied} rows="4"${required && html` required`}${bound}>\n${value}</textarea>`,
    },
    faults,
  )
}

type Look = Pick<FormField, 'type' | 'inputmode' | 'hint'>

const formats: Readonly<Record<string, Look>> = {
  email: { type: 'email' },
  uri: { type: 'url', hint: 'An address that begins with https:// or http://.' },
  date: { type: 'date' },
  'date-time': { hint: 'With its time zone, e.g. 2026-01-31T12:00:00Z.' },
}

const numbers: Readonly<Record<string, Look>> = {
  integer: { inputmode: 'numeric' },
  number: { inputmode: 'decimal' },
}

/** Longer texts get a field of several lines. */
const maxLineCharacters = 255

export function askedField(asked: AskedField, faults: FormFaults): Html {
  const { name, label, value, schema, required = true } = asked
  const { type, format, maxLength, enum: options } = schema
  if (type === 'boolean') return checkbox(asked, faults)
  if (Array.isArray(options)) return choice(asked, options.map(String), faults)
  const isPlain = type === 'string' && format === undefined
  if (isPlain && (typeof maxLength !== 'number' || maxLength > maxLineCharacters))
    return longText(asked, maxLength, faults)
  const look = typeof format === 'string' ? formats[format] : numbers[String(type)]
  const bound = typeof maxLength === 'number' ? { maxlength: maxLength } : undefined
  return field({ name, label, value, required, autocomplete: 'off', ...bound, ...look }, faults)
}
