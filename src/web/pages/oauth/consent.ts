/** The consent page. */

import { type Html, html, type Message, named, type Part } from '../../../base/html.ts'
import type { Theme } from '../../../base/theme.ts'
import { composed, t } from '../../../identity/mail/page-texts.ts'
import type { ScopeChoice, ScopeGroup, ScopeGroupKind } from '../../../identity/server/consent/choices.ts'
import type { ReachOfOperations } from '../../../identity/server/consent/scope-title.ts'
import type { App, Interaction } from '../../../identity/server/server.ts'
import { capitalized, listed } from '../../../model/words.ts'
import { button, form } from '../components/form.ts'
import { icon } from '../components/icons.ts'
import { appLinks } from '../components/parts.ts'
import { scopeBox } from '../components/scope-fields.ts'
import { appTile, brandTile, personTile } from '../components/tile.ts'
import { day } from '../components/time.ts'
import type { Page } from '../frame/layout.ts'

export interface ConsentPage {
  readonly theme: Theme
  readonly action: string
  readonly csrf: string
  readonly interaction: Pick<Interaction, 'app' | 'destination' | 'allowedBefore'>
  readonly groups: readonly ScopeGroup[]
  readonly email: string
}

const titles: Readonly<Record<ScopeGroupKind, Message>> = {
  person: t('About you'),
  data: t('Your data'),
  operations: t('What it can do for you'),
  account: t('Accounts, keys and apps'),
}

const objects = {
  all: t('everyone’s'),
  own: t('only your own'),
  some: t('those that you may'),
  none: t('none'),
}

/** E.g. `Sees everyone’s; changes and deletes only your own.` An app may never do more than its user. */
export function reachInWords(reach: ReachOfOperations, writes: boolean): Message {
  const verbs: readonly (readonly [keyof ReachOfOperations, Message])[] = writes
    ? [
        ['read', t('sees')],
        ['update', t('changes')],
        ['delete', t('deletes')],
      ]
    : [['read', t('sees')]]
  const phrases: { object: Message; verbs: Message[] }[] = []
  for (const [operation, verb] of verbs) {
    const object = objects[reach[operation]]
    const last = phrases.at(-1)
    if (last?.object === object) last.verbs.push(verb)
    else phrases.push({ object, verbs: [verb] })
  }
  return composed((say, locale) => {
    const texts = phrases.map(phrase => `${listed(phrase.verbs.map(say), locale)} ${say(phrase.object)}`)
    return `${capitalized(texts.join('; '))}.`
  })
}

const operations = [
  ['read', t('See')],
  ['create', t('Create')],
  ['update', t('Change')],
  ['delete', t('Delete')],
] as const

function detail(reach: ReachOfOperations, operation: keyof ReachOfOperations): Message {
  if (reach[operation] === 'none') return t('Nothing: you cannot do this either')
  if (operation === 'create') return t('In your name')
  return composed(say => capitalized(say(objects[reach[operation]])))
}

function details({ scope, narrower, access }: ScopeChoice): Part {
  if (!access) return null
  const rows = operations
    .filter(([operation]) => access.writes || operation === 'read')
    .map(([operation, label]) => html`<dt>${label}</dt><dd>${detail(access.reach, operation)}</dd>`)
  const scopes = [scope, ...(narrower ? [narrower.scope] : [])]
  return html`<details><summary>${t('Details')}</summary><dl>${rows}<dt>${t('Scope')}</dt><dd><code>${scopes.join(' ')}</code></dd></dl></details>`
}

function marks({ isNew, access }: ScopeChoice): Part {
  const deletes = access?.writes === true && access.reach.delete !== 'none'
  return html`${isNew && html` <span class="new">${t('New')}</span>`}${deletes && html` <span class="state danger">${t('Can delete')}</span>`}`
}

/** The narrower scope that remains when a scope is unticked. The style sheet hides it until then. */
function narrowerChoice({ narrower }: ScopeChoice): Part {
  if (narrower === undefined) return null
  const { scope, sentence } = narrower
  const label = composed((say, locale) => {
    const text = say(sentence)
    // Nouns are capitalized in German.
    const within = locale.startsWith('en') ? text.charAt(0).toLowerCase() + text.slice(1) : text
    return say(t('Only this: {sentence}', { sentence: within }))
  })
  return html`<div class="choice left">${scopeBox(scope, label, true)}</div>`
}

function permit(choice: ScopeChoice): Html {
  const { scope, sentence, fixed, access } = choice
  if (fixed) {
    return html`<div class="permit"><div class="choice"><input type="hidden" name="scope" value="${scope}"><span class="good">${icon('check')}</span><span>${sentence}${marks(choice)}</span></div></div>`
  }
  const hint = access && html`<span class="hint">${reachInWords(access.reach, access.writes)}</span>`
  const label = html`${sentence}${marks(choice)}${hint}`
  return html`<div class="permit"><div class="choice">${scopeBox(scope, label, true)}</div>
${narrowerChoice(choice)}${details(choice)}</div>`
}

function group({ kind, choices }: ScopeGroup): Html {
  return html`<h2>${titles[kind]}</h2>
${choices.map(permit)}`
}

function nextStep({ name, type }: App, destination: string | undefined): Html {
  const where =
    destination === undefined
      ? html`<p class="going">${icon('arrow')}<span>${t('Your device continues automatically.')}</span></p>`
      : html`<p class="going">${icon('arrow')}<span>${t('Next, you go to {address}', { address: html`<strong>${destination}</strong>` })}</span></p>`
  const anyone = html`<p class="note warning">${
    destination === undefined
      ? t(
          'This app runs on a device. Anyone can name an app “{name}”: allow it only if you have just started it.',
          {
            name: named(name),
          },
        )
      : t(
          'This app runs on a device. Anyone can name an app “{name}”: allow it only if you have just started it, and if you know the address above.',
          { name: named(name) },
        )
  }</p>`
  return html`${where}${type === 'public' && anyone}`
}

function about(app: App): Part {
  const { name, registeredAt } = app
  const links = appLinks(app).filter(link => link !== false)
  if (links.length === 0 && registeredAt === undefined) return null
  return html`<details><summary>${t('About {name}', { name: named(name) })}</summary><dl>${links}${registeredAt !== undefined && html`<dt>${t('Registered here')}</dt><dd>${day(registeredAt)}</dd>`}</dl></details>`
}

function limits(): Html {
  return html`<ul class="limits"><li>${icon('shield')}<span>${t('It never gets your password, and can never do more than you can.')}</span></li>
<li>${icon('leave')}<span>${t('You can revoke this access at any time under [Connected apps](/account/apps).')}</span></li></ul>`
}

function previousConsentNote(app: App, groups: readonly ScopeGroup[]): Html {
  const hasNew = groups.some(({ choices }) => choices.some(({ isNew }) => isNew))
  return hasNew
    ? html`<p class="note">${t('You have allowed {name} access before. New permissions are marked.', { name: named(app.name) })}</p>`
    : html`<p class="note">${t('You have allowed {name} all of this before.', { name: named(app.name) })}</p>`
}

export function consentPage({ theme, action, csrf, interaction, groups, email }: ConsentPage): Page {
  const { app, allowedBefore, destination } = interaction
  const content = html`<div class="crest">${appTile(app, 'large')}${icon('exchange', 24)}${brandTile(theme, 'large')}</div>
<h1>${t('{name} asks for access to your account', { name: named(app.name) })}</h1>
<div class="who">${personTile(email, email, 'small')}<p>${t('You are signed in as {email}.', { email })}</p>
${form({ action, csrf, hidden: { answer: 'other-account' } }, button(t('Use another account'), 'quiet'))}</div>
${allowedBefore.size > 0 && previousConsentNote(app, groups)}
${form(
  { action, csrf },
  html`
<fieldset class="permits"><legend>${t('{name} will be able to:', { name: named(app.name) })}</legend>
${groups.map(group)}
</fieldset>
${nextStep(app, destination)}
<div class="buttons turned">${button(t('Allow'), undefined, { name: 'answer', value: 'allow' })}${button(t('Cancel'), 'plain', { name: 'answer', value: 'deny' })}</div>`,
)}
${limits()}
${about(app)}`
  return { title: t('Allow {name}?', { name: app.name }), content, layout: 'centred broad' }
}
