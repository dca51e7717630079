/** The consent page. */

import { type Html, html, named, type Part } from '../../../base/html.ts'
import type { Theme } from '../../../base/theme.ts'
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

const titles: Readonly<Record<ScopeGroupKind, string>> = {
  person: 'About you',
  data: 'Your data',
  operations: 'What it can do for you',
  account: 'Accounts, keys and apps',
}

const objects = { all: 'everyone’s', own: 'only your own', some: 'those that you may', none: 'none' } as const

/** E.g. `Sees everyone’s; changes and deletes only your own.` An app may never do more than its user. */
export function reachInWords(reach: ReachOfOperations, writes: boolean): string {
  const verbs: readonly (readonly [keyof ReachOfOperations, string])[] = writes
    ? [
        ['read', 'sees'],
        ['update', 'changes'],
        ['delete', 'deletes'],
      ]
    : [['read', 'sees']]
  const phrases: { object: string; verbs: string[] }[] = []
  for (const [operation, verb] of verbs) {
    const object = objects[reach[operation]]
    const last = phrases.at(-1)
    if (last?.object === object) last.verbs.push(verb)
    else phrases.push({ object, verbs: [verb] })
  }
  return `${capitalized(phrases.map(phrase => `${listed(phrase.verbs)} ${phrase.object}`).join('; '))}.`
}

const operations = [
  ['read', 'See'],
  ['create', 'Create'],
  ['update', 'Change'],
  ['delete', 'Delete'],
] as const

function detail(reach: ReachOfOperations, operation: keyof ReachOfOperations): string {
  if (reach[operation] === 'none') return 'Nothing: you cannot do this either'
  if (operation === 'create') return 'In your name'
  return capitalized(objects[reach[operation]])
}

function details({ scope, narrower, access }: ScopeChoice): Part {
  if (!access) return null
  const rows = operations
    .filter(([operation]) => access.writes || operation === 'read')
    .map(([operation, label]) => html`<dt>${label}</dt><dd>${detail(access.reach, operation)}</dd>`)
  const scopes = [scope, ...(narrower ? [narrower.scope] : [])]
  return html`<details><summary>Details</summary><dl>${rows}<dt>Scope</dt><dd><code>${scopes.join(' ')}</code></dd></dl></details>`
}

function marks({ isNew, access }: ScopeChoice): Part {
  const deletes = access?.writes === true && access.reach.delete !== 'none'
  return html`${isNew && html` <span class="new">New</span>`}${deletes && html` <span class="state danger">Can delete</span>`}`
}

/** The narrower scope that remains when a scope is unticked. The style sheet hides it until then. */
function narrowerChoice({ narrower }: ScopeChoice): Part {
  if (narrower === undefined) return null
  const { scope, sentence } = narrower
  const label = `Only this: ${sentence.charAt(0).toLowerCase() + sentence.slice(1)}`
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
      ? html`<p class="going">${icon('arrow')}<span>Your device continues automatically.</span></p>`
      : html`<p class="going">${icon('arrow')}<span>Next, you go to <strong>${destination}</strong></span></p>`
  const anyone = html`<p class="note warning">This app runs on a device. Anyone can name an app “${named(name)}”: allow it only if you have just started it${destination !== undefined && ', and if you know the address above'}.</p>`
  return html`${where}${type === 'public' && anyone}`
}

function about(app: App): Part {
  const { name, registeredAt } = app
  const links = appLinks(app).filter(link => link !== false)
  if (links.length === 0 && registeredAt === undefined) return null
  return html`<details><summary>About ${named(name)}</summary><dl>${links}${registeredAt !== undefined && html`<dt>Registered here</dt><dd>${day(registeredAt)}</dd>`}</dl></details>`
}

function limits(): Html {
  return html`<ul class="limits"><li>${icon('shield')}<span>It never gets your password, and can never do more than you can.</span></li>
<li>${icon('leave')}<span>You can revoke this access at any time under <a href="/account/apps">Connected apps</a>.</span></li></ul>`
}

function previousConsentNote(app: App, groups: readonly ScopeGroup[]): Html {
  const hasNew = groups.some(({ choices }) => choices.some(({ isNew }) => isNew))
  return hasNew
    ? html`<p class="note">You have allowed ${named(app.name)} access before. New permissions are marked.</p>`
    : html`<p class="note">You have allowed ${named(app.name)} all of this before.</p>`
}

export function consentPage({ theme, action, csrf, interaction, groups, email }: ConsentPage): Page {
  const { app, allowedBefore, destination } = interaction
  const content = html`<div class="crest">${appTile(app, 'large')}${icon('exchange', 24)}${brandTile(theme, 'large')}</div>
<h1>${named(app.name)} asks for access to your account</h1>
<div class="who">${personTile(email, email, 'small')}<p>You are signed in as ${email}.</p>
${form({ action, csrf, hidden: { answer: 'other-account' } }, button('Use another account', 'quiet'))}</div>
${allowedBefore.size > 0 && previousConsentNote(app, groups)}
${form(
  { action, csrf },
  html`
<fieldset class="permits"><legend>${named(app.name)} will be able to:</legend>
${groups.map(group)}
</fieldset>
${nextStep(app, destination)}
<div class="buttons turned">${button('Allow', undefined, { name: 'answer', value: 'allow' })}${button('Cancel', 'plain', { name: 'answer', value: 'deny' })}</div>`,
)}
${limits()}
${about(app)}`
  return { title: `Allow ${app.name}?`, content, layout: 'centred broad' }
}
