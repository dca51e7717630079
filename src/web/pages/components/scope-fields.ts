/** The fields for scopes: for each collection nothing, reading, or reading and changing. */

import { type Html, html, type Message, type Part, type Text } from '../../../base/html.ts'
import {
  type ChosenScopes,
  type CollectionChoice,
  type Level,
  levelField,
  type ScopeChoices,
} from '../../../identity/accounts/self-service/scope-choices.ts'
import { t, translated } from '../../../identity/mail/page-texts.ts'
import { checkbox } from './parts.ts'

const levelNames: readonly (readonly [Level, Message])[] = [
  ['none', t('Nothing')],
  ['read', t('Read')],
  ['write', t('Read and change')],
]

function levels(
  { type, title, description, levels: availableLevels }: CollectionChoice,
  chosen: Level,
): Html {
  const name = levelField(type)
  const options = levelNames
    .filter(([level]) => level === 'none' || availableLevels.includes(level))
    .map(([level, label]) => {
      const id = `${name}-${level}`
      return html`<span><input type="radio" id="${id}" name="${name}" value="${level}"${level === chosen && html` checked`}><label for="${id}">${label}</label></span>`
    })
  return html`<fieldset class="levels"><legend>${title}${description !== undefined && html`<span class="hint">${translated(description)}</span>`}</legend><div>${options}</div></fieldset>`
}

function collectionSection(
  title: Text,
  collections: readonly CollectionChoice[],
  chosen: ChosenScopes,
): Part {
  if (collections.length === 0) return null
  return html`<h2>${title}</h2>
${collections.map(collection => levels(collection, chosen.levels.get(collection.type) ?? 'none'))}`
}

export function scopeBox(scope: string, label: Part, checked: boolean): Html {
  const id = `scope-${scope.replace(/[^\w-]/g, '-')}`
  return checkbox({ id, name: 'scope', value: scope, label, checked })
}

function scopeCheckbox([scope, sentence]: readonly [string, Text], chosen: ChosenScopes): Html {
  return html`<div class="choice">${scopeBox(scope, sentence, chosen.others.has(scope))}</div>`
}

function scopeSection(title: Text, scopes: ScopeChoices['others'], chosen: ChosenScopes): Part {
  return scopes.length > 0 && html`<h2>${title}</h2>${scopes.map(scope => scopeCheckbox(scope, chosen))}`
}

export function scopeFields({ signIn, items, account, others }: ScopeChoices, chosen: ChosenScopes): Html {
  return html`<div class="scopes">${scopeSection(t('Sign-in'), signIn, chosen)}
${collectionSection(t('Data'), items, chosen)}
${scopeSection(t('Operations'), others, chosen)}
${collectionSection(t('Accounts, keys and apps'), account, chosen)}</div>`
}
