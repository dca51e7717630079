import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formText, parseForm } from '../../../../src/identity/server/requests/form.ts'
import {
  authorizationRequest,
  deviceRequest,
  repeatedParameter,
  tokenRequest,
} from '../../../../src/identity/server/requests/parameters.ts'

const rules = {
  resources: new Set(['https://a.example', 'https://a.example/api/v1']),
  defaultScopes: (clientId: string) => (clientId === 'known' ? ['read:post', 'read:user'] : []),
}

const authorize = async (query: string) => formText(await authorizationRequest(parseForm(query), rules))
const exchangeCode = (form: string) => formText(tokenRequest(parseForm(form), rules))

test('a short authorization request asks for a code, and may separate scopes with commas', async () => {
  assert.equal(
    await authorize('client_id=a&scope=read:post,read:user&state=s'),
    'client_id=a&scope=read%3Apost+read%3Auser&state=s&response_type=code',
  )
  assert.equal(
    await authorize('client_id=a&scope=read:post%20,%20read:user,&response_type=code'),
    'client_id=a&scope=read%3Apost+read%3Auser&response_type=code',
  )
})

test('with the openid scope, response_type is not added', async () => {
  assert.equal(await authorize('client_id=a&scope=openid,email'), 'client_id=a&scope=openid+email')
})

test('an empty response_type is not treated as missing', async () => {
  assert.equal(await authorize('client_id=a&scope=x&response_type='), 'client_id=a&scope=x&response_type=')
})

test('a missing or empty scope becomes the app’s default scopes', async () => {
  const expected = 'client_id=known&scope=read%3Apost+read%3Auser&response_type=code'
  assert.equal(await authorize('client_id=known'), expected)
  assert.equal(await authorize('client_id=known&scope='), expected)
  assert.equal(await authorize('client_id=unknown'), 'client_id=unknown&response_type=code')
  assert.equal(
    formText(await deviceRequest(parseForm('client_id=known'), rules)),
    'client_id=known&scope=read%3Apost+read%3Auser',
  )
})

test('offline_access implies prompt=consent, unless the request has a prompt', async () => {
  assert.equal(
    await authorize('client_id=a&scope=offline_access&response_type=code'),
    'client_id=a&scope=offline_access&response_type=code&prompt=consent&portico_implied_consent=yes',
  )
  assert.equal(
    await authorize('client_id=a&scope=offline_access&response_type=code&prompt=none'),
    'client_id=a&scope=offline_access&response_type=code&prompt=none',
  )
})

test('the service’s own resource is removed; another or a repeated one stays', async () => {
  assert.equal(
    await authorize(
      'client_id=a&scope=x&response_type=code&resource=https://a.example/&resource=https://a.example/api/v1',
    ),
    'client_id=a&scope=x&response_type=code',
  )
  assert.match(await authorize('client_id=a&scope=x&resource=https://b.example'), /resource=https%3A%2F%2Fb/)
  assert.match(await authorize('client_id=a&scope=x&resource=https://a.example.b'), /resource=/)
  assert.match(
    await authorize('client_id=a&resource=https://a.example&resource=https://a.example'),
    /resource=.*resource=/,
  )
})

test('a pushed request is left unchanged', async () => {
  assert.equal(await authorize('client_id=known&request_uri=urn:x'), 'client_id=known&request_uri=urn%3Ax')
})

test('a repeated redirect_uri is refused', async () => {
  const created = parseForm(
    await authorize('client_id=a&redirect_uri=https://a.example/&redirect_uri=https://b.example/'),
  )
  assert.deepEqual(
    created.filter(([name]) => name === 'redirect_uri').map(([, value]) => URL.canParse(value)),
    [false],
  )
})

test('a token request without grant_type exchanges a code if it has the client’s credentials', () => {
  const short = 'client_id=a&client_secret=b&code=c'
  assert.equal(exchangeCode(short), `${short}&grant_type=authorization_code`)
  for (const form of [
    'client_id=a&client_secret=b',
    'client_id=a&code=c',
    'client_secret=b&code=c',
    `${short}&grant_type=`,
  ]) {
    assert.equal(exchangeCode(form), form)
  }
  assert.equal(
    exchangeCode('grant_type=refresh_token&refresh_token=r&scope=a,b'),
    'grant_type=refresh_token&refresh_token=r&scope=a+b',
  )
  assert.equal(
    exchangeCode('grant_type=refresh_token&refresh_token=r&scope='),
    'grant_type=refresh_token&refresh_token=r',
  )
})

test('a repeated parameter is found among any others', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1 }), fc.nat(), (names, at) => {
      const pairs = names.map(name => [name, 'x'] as const)
      assert.equal(repeatedParameter(pairs), undefined)
      const again = names[at % names.length] ?? ''
      assert.equal(repeatedParameter([...pairs, [again, again === 'resource' ? 'x' : 'y']]), again)
    }),
  )
  assert.equal(repeatedParameter(parseForm('resource=a&resource=b')), undefined)
  assert.equal(repeatedParameter(parseForm('resource=a&resource=a')), 'resource')
  assert.equal(repeatedParameter(parseForm('__proto__=a&constructor=b')), undefined)
})

test('a complete request stays unchanged', async () => {
  const word = fc.stringMatching(/^[a-z:_]{1,12}$/).filter(scope => scope !== 'offline_access')
  await fc.assert(
    fc.asyncProperty(fc.array(word, { minLength: 1 }), fc.string(), async (scopes, state) => {
      const query = formText([
        ['client_id', 'a'],
        ['response_type', 'code'],
        ['scope', scopes.join(' ')],
        ['state', state],
      ])
      assert.equal(await authorize(query), query)
    }),
  )
})
