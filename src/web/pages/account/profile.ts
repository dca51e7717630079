/** The profile: name, further fields, address, a copy of the user's data, and the deletion of the account. */

import { type Html, html, named, type Part, type Text } from '../../../base/html.ts'
import type { DeletionPlan } from '../../../identity/accounts/self-service/own-data.ts'
import { itemsText, t } from '../../../identity/mail/page-texts.ts'
import { button, type FormFaults, field, form, summary } from '../components/form.ts'
import { fieldOfModel, type ModelField } from '../components/model-field.ts'
import { linkButton } from '../components/parts.ts'
import type { Menu, Page } from '../frame/layout.ts'
import { note, pendingText } from './account.ts'

const path = '/account/profile'

export interface ProfilePage {
  readonly menu: Menu
  readonly note: Text | undefined
  readonly faults: FormFaults
  readonly name: string
  readonly modelFields: readonly ModelField[]
  readonly email: string
  readonly verified: boolean
  /** The address that the account gets once it is confirmed. */
  readonly waiting: string | undefined
  /** The address that was entered. */
  readonly newEmail: string
  /** Whether users can delete their account. */
  readonly deletion: boolean
}

function detailsSection({ menu, faults, name, modelFields }: ProfilePage): Html {
  return html`<section class="card" aria-labelledby="details"><h2 id="details">${t('About you')}</h2>
${form(
  { action: path, csrf: menu.csrf, hidden: { change: 'details' } },
  html`${field({ name: 'name', label: t('Your name'), value: name, autocomplete: 'name', maxlength: 100 }, faults)}
${modelFields.map(modelField => fieldOfModel(modelField, faults))}
<div class="buttons">${button(t('Save'))}</div>`,
)}</section>`
}

function waitingPart({ menu, waiting }: ProfilePage): Part {
  return (
    waiting !== undefined &&
    html`<div class="note"><p>${pendingText(waiting)}</p>
${form({ action: '/account/verify', csrf: menu.csrf, hidden: { drop: 'yes' } }, button(t('Keep the old address'), 'plain'))}</div>`
  )
}

function addressSection(page: ProfilePage): Html {
  const { menu, faults, email, verified, newEmail } = page
  const hint = t(
    'We send a link there. Until you open it, the account keeps its present address, which is notified of the request.',
  )
  return html`<section class="card" aria-labelledby="address"><h2 id="address">${t('E-mail address')}</h2>
<p class="stated"><strong>${email}</strong> ${verified ? html`<span class="state good">${t('Confirmed')}</span>` : html`<span class="state bad">${t('Not confirmed')}</span>`}</p>
${waitingPart(page)}
${form(
  { action: path, csrf: menu.csrf, hidden: { change: 'email' } },
  html`${field({ name: 'email', label: t('New address'), hint, type: 'email', value: newEmail, autocomplete: 'email', maxlength: 254 }, faults)}
<div class="buttons">${button(t('Change the address'), 'plain')}</div>`,
)}</section>`
}

export function profilePage(page: ProfilePage): Page {
  const { menu, faults, deletion } = page
  const content = html`<h1>${t('Profile')}</h1>
${note(page.note)}
${summary(faults)}
${detailsSection(page)}
${addressSection(page)}
<section class="card" aria-labelledby="export"><h2 id="export">${t('Your data')}</h2>
<p>${t('Everything that belongs to you and that you can see, as one file.')}</p>
<div class="buttons">${linkButton(`${path}/export`, t('Download your data'), 'plain')}</div></section>
${
  deletion &&
  html`<section class="card" aria-labelledby="delete"><h2 id="delete">${t('Delete your account')}</h2>
<p>${t('This deletes the account and everything that belongs to you alone. It cannot be undone.')}</p>
<div class="buttons">${linkButton(`${path}/delete`, t('Delete your account'), 'danger')}</div></section>`
}`
  return { title: t('Profile'), content, menu, faulty: faults.size > 0 }
}

export interface ExportPage {
  readonly menu: Menu
  /** The titles of the collections in the file. */
  readonly collections: readonly Text[]
}

export function exportPage({ menu, collections }: ExportPage): Page {
  const content = html`<h1>${t('Your data')}</h1>
<p>${t('One JSON file, as of the moment at which you download it:')}</p>
<ul><li>${t('your account: name, address, and every other field that you may see')}</li>
<li>${t('the sessions in which you are signed in, your passkeys by name, and whether one-time codes are on')}</li>
<li>${t('the apps that you have connected, and what each may do')}</li>
${collections.map(title => html`<li>${t('your {items}', { items: title })}</li>`)}</ul>
<p class="faint">${t('It contains no passwords, keys or secrets, and nothing that you could not see otherwise. Keep it safe: it is a copy of your account.')}</p>
${form(
  { action: `${path}/export`, csrf: menu.csrf },
  html`<div class="buttons">${button(t('Download'))}${linkButton(path, t('Back'), 'plain')}</div>`,
)}`
  return { title: t('Your data'), content, menu }
}

export interface DeletePage {
  readonly menu: Menu
  readonly faults: FormFaults
  readonly email: string
  readonly plan: DeletionPlan
  /** The titles of the collections that keep the account from being deleted now. */
  readonly blocking: readonly Text[]
  readonly service: string
}

function listed(titles: readonly Text[]): Html {
  return html`<ul>${titles.map(title => html`<li>${title}</li>`)}</ul>`
}

function blockedPart({ blocking, service }: DeletePage): Part {
  return (
    blocking.length > 0 &&
    html`<div class="summary" role="alert"><h2>${t('Your account cannot be deleted yet')}</h2>
<p>${t('Some items refer to your account and are not deleted with it. Delete them first, or give them to somebody else; if you cannot, contact the people who run {service}.', { service: named(service) })}</p>
${listed(blocking)}</div>`
  )
}

/** In a row, with commas. */
function inRow(collections: readonly string[]): Part {
  return collections.map((collection, index) => [index > 0 && ', ', itemsText(collection)])
}

function consequences({ plan }: DeletePage): Html {
  const cleared = [...new Set(plan.cleared.map(({ collection }) => collection))]
  return html`<p>${t('At once, and for good:')}</p>
<ul><li>${t('you are signed out everywhere, and your password, passkeys and codes are gone')}</li>
<li>${t('apps that you have connected lose their access')}</li>
<li>${t('what is yours is deleted: {items}', { items: inRow(plan.deleted) })}</li>
${cleared.length > 0 && html`<li>${t('these stay, without your name: {items}', { items: inRow(cleared) })}</li>`}</ul>
<p>${t('The record of past events names the account until those events expire. [Download your data](/account/profile/export) first, if you want to keep it.')}</p>`
}

export function deletePage(page: DeletePage): Page {
  const { menu, faults, email } = page
  const address = field(
    {
      name: 'address',
      label: t('Your e-mail address'),
      hint: t('Type {email} to confirm.', { email }),
      autocomplete: 'off',
      inputmode: 'email',
      maxlength: 254,
    },
    faults,
  )
  const content = html`<h1>${t('Delete your account?')}</h1>
${summary(faults)}
${blockedPart(page)}
${consequences(page)}
${form(
  { action: `${path}/delete`, csrf: menu.csrf },
  html`${address}
<div class="buttons">${button(t('Delete my account'), 'danger')}${linkButton(path, t('Keep it'), 'plain')}</div>`,
)}`
  return { title: t('Delete your account'), content, menu, faulty: faults.size > 0 }
}
