/** A field of the model in a form. Its JSON Schema determines the kind of input. */

import { type Html, html, type Text } from '../../../base/html.ts'
import { t } from '../../../identity/mail/page-texts.ts'
import type { JsonSchema } from '../../../model/fields/type.ts'
import { type FormFaults, type FormField, field, otherField } from './form.ts'

/** A field of the model, with what was entered. */
export interface ModelField {
  /** The name of the field in the form. */
  readonly name: string
  readonly label: Text
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

function checkbox({ name, label, value }: ModelField, faults: FormFaults): Html {
  const fault = faults.get(name)
  return html`<div class="field">
${fault !== undefined && html`<span class="fault" id="${name}-fault">${fault}</span>`}
<div class="choice"><input type="checkbox" id="${name}" name="${name}" value="yes"${value !== undefined && value !== '' && html` checked`}${fault !== undefined && html` aria-invalid="true" aria-describedby="${name}-fault"`}><label for="${name}">${label}</label></div>
</div>`
}

function choice(
  { name, label, value = '', required = true }: ModelField,
  options: readonly string[],
  faults: FormFaults,
): Html {
  const optionElements = options.map(
    option => html`<option value="${option}"${option === value && html` selected`}>${option}</option>`,
  )
  return otherField(
    {
      name,
      label,
      input: inputAttributes =>
        html`<select${inputAttributes}${required && html` required`}><option value="">${required ? t('Choose…') : t('None')}</option>${optionElements}</select>`,
    },
    faults,
  )
}

function longText(
  { name, label, value = '', required = true }: ModelField,
  max: unknown,
  faults: FormFaults,
): Html {
  const bound = typeof max === 'number' && html` maxlength="${max}"`
  return otherField(
    {
      name,
      label,
      input: inputAttributes =>
        html`<textarea${inputAttributes} rows="4"${required && html` required`}${bound}>\n${value}</textarea>`,
    },
    faults,
  )
}

/** The properties of an input of one line. */
type InputProperties = Pick<FormField, 'type' | 'inputmode' | 'hint'>

const formats: Readonly<Record<string, InputProperties>> = {
  email: { type: 'email' },
  uri: { type: 'url', hint: t('An address that begins with https:// or http://.') },
  date: { type: 'date' },
  'date-time': { hint: t('With its time zone, e.g. 2026-01-31T12:00:00Z.') },
}

const numbers: Readonly<Record<string, InputProperties>> = {
  integer: { inputmode: 'numeric' },
  number: { inputmode: 'decimal' },
}

/** Longer texts get a field of several lines. */
const maxLineCharacters = 255

/** The input of a field, by its JSON Schema: a checkbox, a choice, several lines, or one line. */
export function fieldOfModel(modelField: ModelField, faults: FormFaults): Html {
  const { name, label, value, schema, required = true } = modelField
  const { type, format, maxLength, enum: options } = schema
  if (type === 'boolean') return checkbox(modelField, faults)
  if (Array.isArray(options)) return choice(modelField, options.map(String), faults)
  const isPlain = type === 'string' && format === undefined
  if (isPlain && (typeof maxLength !== 'number' || maxLength > maxLineCharacters))
    return longText(modelField, maxLength, faults)
  const properties = typeof format === 'string' ? formats[format] : numbers[String(type)]
  const bound = typeof maxLength === 'number' ? { maxlength: maxLength } : undefined
  return field({ name, label, value, required, autocomplete: 'off', ...bound, ...properties }, faults)
}
