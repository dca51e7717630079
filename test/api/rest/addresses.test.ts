/** Mail addresses and URLs as people write them: in filters, in bodies and in GraphQL alike. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anyone, collection, email, model, url, users } from '../../../src/index.ts'
import { canonicalEmail, isEmail } from '../../../src/model/fields/email.ts'
import { type TestService, testService } from '../../../src/testing.ts'

const declared = model({
  users: users(),
  contacts: collection({
    fields: { mail: email({ optional: true, unique: true }), link: url({ optional: true }) },
    access: { read: anyone, create: anyone, update: anyone, delete: anyone },
  }),
})

const punycode = 'ada@xn--bcher-kva.example'
const written = [punycode, 'ada@b\u00fccher.example', 'Ada@B\u00dcCHER.Example', 'ada@bu\u0308cher.EXAMPLE']

async function withService(use: (service: TestService<typeof declared>) => Promise<void>): Promise<void> {
  const service = await testService(declared)
  try {
    await use(service)
  } finally {
    await service.close()
  }
}

test('an address with an international domain is the one in ASCII, whichever is sent', () =>
  withService(async service => {
    const { body } = await service.request('POST /api/v1/contacts', { body: { mail: written[1] } })
    assert.equal(body.mail, punycode)
    for (const mail of written) {
      const again = await service.request('POST /api/v1/contacts', { body: { mail } })
      assert.equal(again.status, 409, mail)
      const found = async (query: string) =>
        (await service.request(`GET /api/v1/contacts?${query}`)).body.data.length
      for (const name of ['mail', 'mail[in]', 'mail[contains]', 'mail[icontains]', 'mail[starts_with]'])
        assert.equal(await found(`${name}=${encodeURIComponent(mail)}`), 1, `${name}=${mail}`)
      assert.equal(await found(`mail[ne]=${encodeURIComponent(mail)}`), 0, mail)
      for (const operator of ['eq', 'contains', 'startsWith']) {
        const query = `{ contacts(filter: { mail: { ${operator}: ${JSON.stringify(mail)} } }) { mail } }`
        const answer = await service.request('POST /graphql', { body: { query } })
        assert.deepEqual(answer.body.data?.contacts, [{ mail: punycode }], `${operator}: ${mail}`)
      }
    }
  }))

test('an account is found by its address in either form', () =>
  withService(async service => {
    await service.users.create({ email: 'ada@b\u00fccher.example' })
    for (const email of written) await assert.rejects(service.users.create({ email }), /email/, email)
  }))

test('a part of an address is compared as addresses are stored', () =>
  withService(async service => {
    await service.request('POST /api/v1/contacts', { body: { mail: 'Ann@Example.com' } })
    for (const query of ['mail=Ann@Example.com', 'mail[starts_with]=Ann', 'mail[contains]=Example']) {
      const { body } = await service.request(`GET /api/v1/contacts?${query}`)
      assert.equal(body.data.length, 1, query)
    }
  }))

test('only what is the same address to a mail server becomes the same address', () => {
  for (const text of [
    'quac\u212a@example.com',
    '\u00e4da@example.com',
    'ada@b\u00fccher',
    'ada@b\u00fc cher.example',
    'ada@b\u00fc..example',
    `ada@${'\u00fc'.repeat(63)}.example`,
    'ada@\u200b.example',
  ])
    assert.equal(isEmail(text), false, JSON.stringify(text))
  assert.equal(canonicalEmail('quac\u212a@Example.com'), 'quac\u212a@example.com')
  assert.equal(canonicalEmail('Not an address'), 'not an address')
})

test('the scheme of a URL has no case (RFC 3986, 3.1)', () =>
  withService(async service => {
    for (const link of ['HTTP://example.com/', 'Https://Example.com/a', 'http://example.com']) {
      const { status, body } = await service.request('POST /api/v1/contacts', { body: { link } })
      assert.deepEqual([status, body.link], [201, link])
    }
    const refused = await service.request('POST /api/v1/contacts', { body: { link: 'FTP://example.com/' } })
    assert.equal(refused.status, 400)
  }))
