/** Fields of forms with their labels, hints and faults, and the summary of faults. */

import { attributes, type Html, html, type Part, type Text } from '../../../base/html.ts'
import { t, translated } from '../../../identity/mail/page-texts.ts'

/** Messages by the name of the field; those that are about no field have the name `form`. */
export type FormFaults = ReadonlyMap<string, Text>

export const noFaults: FormFaults = new Map()

export interface FormField {
  readonly name: string
  readonly label: Text
  readonly type?: 'text' | 'email' | 'password' | 'url' | 'date'
  readonly value?: string | undefined
  readonly hint?: Text | undefined
  readonly autocomplete: string
  readonly required?: boolean
  readonly autofocus?: boolean
  readonly minlength?: number
  readonly maxlength?: number
  readonly inputmode?: 'numeric' | 'decimal' | 'text' | 'email'
  readonly class?: string
  readonly readonly?: boolean
}

/** The attributes that tie a field or a set of fields to its hint and fault (WCAG 2.2, 1.3.1 and 3.3.1). */
export function describedBy(name: string, hint: Part, fault: Text | undefined): string | false {
  const ids = [hint !== undefined && `${name}-hint`, fault !== undefined && `${name}-fault`].filter(Boolean)
  return ids.length > 0 && ids.join(' ')
}

/** The hint and the fault, with the ids that `describedBy` names. */
export function hintAndFault(name: string, hint: Part, fault: Text | undefined): Html {
  return html`${hint !== undefined && html`<span class="hint" id="${name}-hint">${hint}</span>`}
${fault !== undefined && html`<span class="fault" id="${name}-fault">${translated(fault)}</span>`}`
}

/** A line of text with its label; screen readers read its hint and fault with it. */
export function field(options: FormField, faults: FormFaults = noFaults): Html {
  const { label, hint, name, required = true, type = 'text', ...otherAttributes } = options
  const fault = faults.get(name)
  const input = attributes({
    id: name,
    name,
    type,
    required,
    'aria-describedby': describedBy(name, hint, fault),
    'aria-invalid': fault !== undefined && 'true',
    ...otherAttributes,
  })
  return html`<div class="field">
<label for="${name}">${label}</label>
${hintAndFault(name, hint, fault)}
<input${input}>
</div>`
}

/** A field other than a line of text. `input` gets the attributes that connect it with its label, hint and fault. */
export interface OtherField {
  readonly name: string
  readonly label: Text
  readonly hint?: Text | undefined
  readonly input: (inputAttributes: Html) => Html
}

export function otherField({ name, label, hint, input }: OtherField, faults: FormFaults): Html {
  const fault = faults.get(name)
  const inputAttributes = attributes({
    id: name,
    name,
    'aria-describedby': describedBy(name, hint, fault),
    'aria-invalid': fault !== undefined && 'true',
  })
  return html`<div class="field">
<label for="${name}">${label}</label>
${hintAndFault(name, hint, fault)}
${input(inputAttributes)}
</div>`
}

/** All faults, each a link to its field. Takes the focus when the page opens. */
export function summary(faults: FormFaults): Part {
  if (faults.size === 0) return null
  const items = [...faults].map(([name, message]) =>
    name === 'form'
      ? html`<li>${translated(message)}</li>`
      : html`<li><a href="#${name}">${translated(message)}</a></li>`,
  )
  return html`<div class="summary" role="alert" tabindex="-1" autofocus aria-labelledby="faults">
<h2 id="faults">${t('There is a problem')}</h2>
<ul>${items}</ul>
</div>`
}

export function hidden(values: Readonly<Record<string, string | undefined>>): Html[] {
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [html`<input type="hidden" name="${name}" value="${value}">`],
  )
}

export interface FormOptions {
  readonly action: string
  readonly csrf?: string
  readonly hidden?: Readonly<Record<string, string | undefined>>
}

export function form({ action, csrf, hidden: values = {} }: FormOptions, content: Part): Html {
  return html`<form${attributes({ method: 'post', action })}>
${hidden({ csrf, ...values })}${content}
</form>`
}

export function button(
  label: Part,
  kind: 'plain' | 'danger' | 'quiet' | undefined = undefined,
  otherAttributes: Readonly<Record<string, Text | boolean>> = {},
): Html {
  return html`<button${attributes({ class: kind, ...otherAttributes })}>${label}</button>`
}
