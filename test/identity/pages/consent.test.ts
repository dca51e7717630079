/** The consent page shows whose data a scope reaches, which scopes are new, and what an app may delete. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { english } from '../../../src/identity/mail/page-texts.ts'
import { scopeGroups } from '../../../src/identity/server/consent/choices.ts'
import { scopeTitle } from '../../../src/identity/server/consent/scope-title.ts'
import { collection, model, role, signedIn, text } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { renderPage } from '../../../src/web/pages/frame/layout.ts'
import { consentPage, reachInWords } from '../../../src/web/pages/oauth/consent.ts'

const fields = { title: text({ max: 20 }), author_id: text({ max: 20, optional: true }) }
const theme = { name: 'Example', logo: undefined, colour: '#1f5fbf' }
const frame = { theme, explorer: true, guides: true }
const app = {
  clientId: 'x',
  name: 'App',
  type: 'confidential',
  logoUri: undefined,
  homepageUri: undefined,
} as const

const checked = checkModel(
  model({
    posts: collection({
      fields,
      access: { read: signedIn, create: signedIn, update: role('admin'), delete: role('admin') },
    }),
    payrolls: collection({ fields, access: { read: role('admin') } }),
  }),
)
const sentences = new Map([['openid', 'Know who you are'], ...checked.scopes])

function groupsOf(requested: readonly string[], before: readonly string[] = [], userRole = 'user') {
  const scopes = requested.map(scope => ({ scope, sentence: sentences.get(scope) ?? scope }))
  return scopeGroups(checked, { scopes, allowedBefore: new Set(before) }, { id: 1, role: userRole })
}

function pageOf(requested: readonly string[], before: readonly string[] = [], userRole = 'user'): string {
  const interaction = { app, destination: 'https://app.example.com', allowedBefore: new Set(before) }
  const groups = groupsOf(requested, before, userRole)
  return renderPage(
    frame,
    consentPage({ theme, action: '/x', csrf: 'c', interaction, groups, email: 'a@example.com' }),
    english,
  )
}

function sentencesOn(page: string): readonly string[] {
  return [...page.matchAll(/<label for="[^"]*">([^<]+?)\s*</g)].map(([, sentence]) => sentence ?? '')
}

test('read is folded into write, and remains as a choice of its own for when write is unticked', () => {
  const page = pageOf(['openid', 'read:post', 'write:post', 'read:user'])
  assert.deepEqual(sentencesOn(page), ['See and create posts', 'Only this: see posts', 'See users'])
  for (const scope of ['read:post', 'write:post', 'read:user']) {
    assert.match(page, new RegExp(`type="checkbox" id="[^"]*" name="scope" value="${scope}" checked`))
  }
  // `openid` is required, so it is no choice.
  assert.match(page, /<input type="hidden" name="scope" value="openid">/)
  assert.doesNotMatch(page, /type="checkbox"[^>]*value="openid"/)
})

test('a scope says whose data it reaches with the role of its user', () => {
  const hint = (userRole: string) =>
    [...pageOf(['write:post'], [], userRole).matchAll(/class="hint">([^<]*)/g)].map(([, said]) => said)
  assert.deepEqual(hint('user'), ['Sees everyone’s; changes and deletes none.'])
  assert.deepEqual(hint('admin'), ['Sees, changes and deletes everyone’s.'])
  assert.doesNotMatch(pageOf(['write:post']), /Can delete/)
  assert.match(pageOf(['write:post'], [], 'admin'), /<span class="state danger">Can delete</)
  assert.match(pageOf(['write:api_key']), /Sees, changes and deletes only your own\./)
})

test('the title of a scope says only what is possible with it', () => {
  const titles = (userRole: string, ...requested: readonly string[]) =>
    sentencesOn(pageOf(requested, [], userRole))
  assert.deepEqual(titles('user', 'write:user'), ['See users, change your own'])
  assert.deepEqual(titles('user', 'write:post'), ['See and create posts'])
  assert.deepEqual(titles('admin', 'write:post'), ['See, create, change and delete posts'])
  assert.deepEqual(titles('user', 'write:api_key'), ['See, create, change and delete your own API keys'])
  assert.deepEqual(titles('user', 'read:api_key'), ['See your own API keys'])
  assert.deepEqual(titles('user', 'read:payroll'), ['Nothing: you cannot use payrolls either'])
  assert.deepEqual(titles('admin', 'read:payroll'), ['See payrolls'])
  const collectionOf = { name: 'blog_posts' }
  const none = { read: 'none', create: 'none', update: 'none', delete: 'none' } as const
  assert.equal(scopeTitle(collectionOf, none, true), undefined)
  assert.equal(String(scopeTitle(collectionOf, { ...none, create: 'all' }, true)), 'Create blog posts')
  assert.equal(scopeTitle(collectionOf, { ...none, create: 'all' }, false), undefined)
  assert.equal(
    String(scopeTitle(collectionOf, { read: 'some', create: 'own', update: 'own', delete: 'none' }, true)),
    'See blog posts, create and change your own',
  )
})

test('a reach is described in words', () => {
  const reach = { read: 'all', create: 'own', update: 'some', delete: 'own' } as const
  assert.equal(String(reachInWords(reach, false)), 'Sees everyone’s.')
  assert.equal(
    String(reachInWords(reach, true)),
    'Sees everyone’s; changes those that you may; deletes only your own.',
  )
})

test('scopes are grouped; a new scope comes first in its group, and is marked', () => {
  const requested = ['openid', 'read:user', 'write:api_key', 'read:post']
  assert.deepEqual(
    groupsOf(requested).map(({ kind, choices }) => [kind, choices.map(({ scope }) => scope)]),
    [
      ['person', ['openid']],
      ['data', ['read:post']],
      ['account', ['read:user', 'write:api_key']],
    ],
  )
  const later = groupsOf(requested, ['openid', 'read:user', 'read:post'])
  assert.deepEqual(
    later.at(-1)?.choices.map(({ scope, isNew }) => [scope, isNew]),
    [
      ['write:api_key', true],
      ['read:user', false],
    ],
  )
  assert.equal(pageOf(requested, ['openid', 'read:user', 'read:post']).match(/class="new"/g)?.length, 1)
  assert.doesNotMatch(pageOf(requested), /class="new"/)
})

test('the page says whether anything is new', () => {
  const marked = /access before\. New permissions are marked/
  assert.match(pageOf(['read:post', 'read:user'], ['read:user']), marked)
  const known = pageOf(['read:post', 'read:user'], ['read:post', 'read:user'])
  assert.doesNotMatch(known, /New permissions/)
  assert.match(known, /all of this before/)
  assert.doesNotMatch(pageOf(['read:post', 'read:user']), /before/)
})

test('the app’s redirect address comes before the button', () => {
  const page = pageOf(['read:post'])
  assert.ok(page.indexOf('https://app.example.com') < page.indexOf('value="allow"'))
})
