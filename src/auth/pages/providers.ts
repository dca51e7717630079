/** Sign-in with an account elsewhere: a button for each provider. */
import { form } from './form.ts'
import { type Html, html, type Part } from './html.ts'

export interface ProviderButton {
  /** E.g. `Continue with Google`. */
  readonly label: string
  /** The provider's mark, made by `drawing` or `html`. */
  readonly mark?: Html | undefined
  readonly action: string
  readonly csrf: string
  readonly hidden?: Readonly<Record<string, string | undefined>>
}

/** Says that what follows is another way. */
export const or = html`<p class="or">or</p>`

/** One form each, with POST: a sign-in elsewhere begins by a click here. Nothing where there are no providers. */
export function providerButtons(buttons: readonly ProviderButton[]): Part {
  if (buttons.length === 0) return null
  const forms = buttons.map(({ label, mark, ...options }) =>
    form(options, html`<button class="plain">${mark}<span>${label}</span></button>`),
  )
  return html`<div class="providers">${forms}</div>`
}
