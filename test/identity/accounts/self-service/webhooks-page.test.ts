/** `/account/webhooks`: from the first delivery to the last, using the pages only. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { sqlite } from '../../../setups/sqlite.ts'
import { type Fixture, type Person, sharedFixtures } from '../../conformance/server.ts'
import { open } from '../mail-fixture.ts'
import { formTo, inputValue, signIn, submitForm } from './own-pages.ts'

const path = '/account/webhooks'

interface Hook {
  readonly headers: Record<string, string>
  readonly body: string
}

const taken: Hook[] = []
const receiver = createServer((req, res) => {
  let body = ''
  req.setEncoding('utf8').on('data', part => {
    body += part
  })
  req.on('end', () => {
    taken.push({ headers: req.headers as Record<string, string>, body })
    res.writeHead(req.url === '/gone' ? 500 : 200).end('<b>thanks</b>')
  })
})
await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve))
const address = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
const withFixture = sharedFixtures(sqlite, { 'webhooks.allowPrivate': true, quotas: { webhooks: 3 } })
after(() => {
  receiver.closeAllConnections()
  receiver.close()
})

async function add(
  fixture: Fixture,
  person: Person,
  values: Readonly<Record<string, string | readonly string[]>> = {},
) {
  const { visitor, landed } = await signIn(fixture, person, `${path}/new`)
  const formValues = { url: `${address}/hook`, type: ['post.created', 'post.deleted'], ...values }
  return { visitor, added: await submitForm(visitor, formTo(landed, `${path}/new`), formValues) }
}

async function webhooksOf({ call }: Fixture, { key }: Person) {
  const { json } = await call('/api/v1/webhooks', { key })
  return json.data as readonly Record<string, unknown>[]
}

test('a webhook is added, tested, given a new secret, turned off and on, and deleted', async () => {
  await withFixture(async fixture => {
    const { visitor, added } = await add(fixture, fixture.ben, { description: 'For <me>' })
    const secret = inputValue(added, 'secret') ?? ''
    assert.match(secret, /^whsec_/)
    const at = added.url.pathname
    assert.ok(!(await open(visitor, at)).text.includes(secret))
    assert.match(added.text, /<bdi>For &lt;me&gt;<\/bdi>/)
    assert.match(added.text, /post\.created, post\.deleted/)
    taken.length = 0
    const tested = await submitForm(visitor, formTo(added, at, 'test'))
    assert.match(tested.text, /Delivered/)
    assert.match(tested.text, /<dt>Response<\/dt><dd>200 after \d+ ms/)
    assert.match(tested.text, /&lt;b&gt;thanks&lt;\/b&gt;/)
    const [sent] = taken
    assert.ok(sent && new Webhook(secret).verify(sent.body, sent.headers))
    const rotated = await submitForm(visitor, formTo(tested, at, 'rotate'))
    const fresh = inputValue(rotated, 'secret') ?? ''
    assert.match(fresh, /^whsec_/)
    assert.notEqual(fresh, secret)
    const off = await submitForm(visitor, formTo(rotated, at, 'off'))
    assert.match(off.text, /<span class="state">Off<\/span>/)
    assert.match(
      (await submitForm(visitor, formTo(off, at, 'on'))).text,
      /<span class="state good">Sending<\/span>/,
    )
    const [row] = await webhooksOf(fixture, fixture.ben)
    assert.deepEqual([row?.enabled, row?.scopes, row?.description], [true, null, 'For <me>'])
    // Other users cannot open it.
    const stranger = await signIn(fixture, fixture.ann, path)
    for (const below of ['', '/edit', '/delete'])
      assert.equal((await open(stranger.visitor, at + below)).status, 404)
    const confirmation = await open(visitor, `${at}/delete`)
    const deleted = await submitForm(visitor, formTo(confirmation, `${at}/delete`))
    assert.match(deleted.text, /The webhook is deleted/)
    assert.match(deleted.text, /You have no webhooks/)
  })
})

test('an event is delivered, and redelivered with the same id, but only by the owner of its webhook', async () => {
  await withFixture(async fixture => {
    const { ben, ann, call } = fixture
    const { visitor, added } = await add(fixture, ben)
    const at = added.url.pathname
    taken.length = 0
    await call('/api/v1/posts', { method: 'POST', key: ben.key, body: { title: 'News', author_id: ben.id } })
    let seen = await open(visitor, at)
    for (let tries = 0; tries < 1000 && !/Delivered/.test(seen.text); tries++) {
      await new Promise(resolve => setTimeout(resolve, 20))
      seen = await open(visitor, at)
    }
    const again = await submitForm(visitor, formTo(seen, at, 'redeliver'))
    assert.match(again.text, /The event is sent again/)
    for (let tries = 0; tries < 6000 && taken.length < 2; tries++)
      await new Promise(resolve => setTimeout(resolve, 20))
    assert.equal(taken[0]?.headers['webhook-id'], taken[1]?.headers['webhook-id'])
    const other = await add(fixture, ann)
    const form = formTo(other.added, other.added.url.pathname, 'test')
    const id = formTo(again, at, 'redeliver').fields.find(({ name }) => name === 'delivery')?.value ?? ''
    const forged = form.fields.map(field =>
      field.name === 'change' ? { ...field, value: 'redeliver' } : field,
    )
    const delivery = { name: 'delivery', type: 'hidden', value: id, checked: false }
    const refused = await submitForm(other.visitor, { ...form, fields: [...forged, delivery] })
    assert.equal(refused.status, 404)
  })
})

test('faults are shown at their fields with the input, and the limit is explained', async () => {
  await withFixture(async fixture => {
    const { ben } = fixture
    const { visitor, added } = await add(fixture, ben, { url: 'https://user:x@example.com/', events: 'some' })
    assert.equal(added.status, 400)
    assert.match(added.text, /id="url-fault">url must not contain a user name/)
    assert.match(added.text, /id="type-post-created" name="type" value="post\.created" checked/)
    const sent = formTo(added, `${path}/new`)
    const none = await submitForm(visitor, sent, { url: ' ', type: [] })
    assert.match(none.text, /id="url-fault">Enter the address/)
    assert.match(none.text, /id="events-fault">Choose at least one event/)
    const all = { url: `${address}/hook`, events: 'all', collection: ['posts'] }
    for (let count = 0; count < 3; count++) assert.equal((await submitForm(visitor, sent, all)).status, 200)
    const [row] = await webhooksOf(fixture, ben)
    assert.deepEqual([row?.types, row?.collections], [['*'], ['posts']])
    const full = await submitForm(visitor, sent, all)
    assert.match(full.text, /You may have at most 3 webhooks/)
    const at = `${path}/${row?.id}/edit`
    const edited = await submitForm(visitor, formTo(await open(visitor, at), at), { collection: [] })
    assert.match(edited.text, /Your changes are saved/)
    assert.equal((await webhooksOf(fixture, ben)).find(({ id }) => id === row?.id)?.collections, null)
  })
})

test('a webhook created in a session pauses when its owner recovers the account, and resumes when they enable it', async () => {
  await withFixture(async fixture => {
    const { ben } = fixture
    const { visitor, added } = await add(fixture, ben)
    const owner = await signIn(fixture, ben, '/account/security')
    await submitForm(owner.visitor, formTo(owner.landed, '/account/security', 'password'), {
      current_password: ben.password,
      new_password: 'a staple in the meadow',
    })
    assert.equal((await open(visitor, path)).url.pathname, '/account/sign-in')
    const at = added.url.pathname
    const paused = await open(owner.visitor, at)
    assert.match(paused.text, /<span class="state bad">Paused<\/span>/)
    assert.match(paused.text, /The credential that created this webhook has ended/)
    const on = await submitForm(owner.visitor, formTo(paused, at, 'enable'))
    assert.match(on.text, /resumes where it stopped/)
    assert.match(on.text, /<span class="state good">Sending<\/span>/)
  })
})
