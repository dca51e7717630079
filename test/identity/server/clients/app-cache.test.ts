/** Apps are cached until any app changes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Run } from '../../../../src/engine/plan/run.ts'
import { createApps } from '../../../../src/identity/server/clients/apps.ts'

/** A database of one app, which responds on demand and counts its look-ups. */
function open() {
  const versions: Record<string, number> = { oauth_apps: 1, oauth_app_secrets: 1 }
  const waiting: (() => void)[] = []
  const state = { name: 'first' as string | undefined, lookUps: 0, later: false }
  const run = {
    list() {
      state.lookUps++
      const rows = state.name === undefined ? [] : [{ id: 1, name: state.name }]
      const answer = { kind: 'list', text: JSON.stringify(rows), total: undefined, next: undefined }
      if (!state.later) return answer
      return new Promise(resolve => waiting.push(() => resolve(answer)))
    },
  } as unknown as Run
  const apps = createApps(run, collection => versions[collection] ?? assert.fail(collection))
  const change = (collection: string, name: string | undefined) => {
    versions[collection] = (versions[collection] ?? 0) + 1
    state.name = name
  }
  const nameOf = async () => (await apps.find('app_x'))?.name
  const answer = () => {
    for (const resume of waiting.splice(0)) resume()
  }
  return { apps, state, change, nameOf, answer }
}

for (const collection of ['oauth_apps', 'oauth_app_secrets']) {
  test(`an app is looked up once, and again after ${collection} have changed`, async () => {
    const { apps, state, change, nameOf } = open()
    for (let at = 0; at < 3; at++) assert.equal(await nameOf(), 'first')
    assert.equal(state.lookUps, 1)
    const before = apps.version()
    change(collection, 'second')
    assert.notEqual(apps.version(), before)
    assert.equal(await nameOf(), 'second')
    assert.equal(state.lookUps, 2)
  })
}

test('an app that changes during its look-up is looked up again', async () => {
  const { state, change, nameOf, answer } = open()
  state.later = true
  const early = nameOf()
  change('oauth_apps', 'second')
  const late = nameOf()
  answer()
  assert.deepEqual([await early, await late], ['first', 'second'])
  state.later = false
  assert.equal(await nameOf(), 'second')
})

test('an app that changes during its look-up is not cached, even if that look-up ends last', async () => {
  const { state, change, nameOf, answer } = open()
  state.later = true
  const early = nameOf()
  change('oauth_apps', 'second')
  state.later = false
  assert.equal(await nameOf(), 'second')
  answer()
  assert.equal(await early, 'first')
  assert.equal(await nameOf(), 'second')
})

test('a missing app is not cached, because it may be created', async () => {
  const { state, nameOf } = open()
  state.name = undefined
  assert.equal(await nameOf(), undefined)
  state.name = 'new'
  assert.equal(await nameOf(), 'new')
})

test('an id that no client can have is not looked up', async () => {
  const { apps, state } = open()
  for (const id of ['', 'a\0b', 'ä', 'x'.repeat(101)]) assert.equal(await apps.find(id), undefined)
  assert.equal(state.lookUps, 0)
})
