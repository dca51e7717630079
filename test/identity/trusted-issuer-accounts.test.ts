/** The account that a token of a trusted issuer stands for: never one whose address is unproven. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { addressToConfirm } from '../../src/identity/accounts/addresses/verification.ts'
import { signUp } from '../../src/identity/accounts/sign-up/sign-up.ts'
import { findByEmail } from '../../src/identity/accounts/users.ts'
import { readSettings } from '../../src/server/config/config.ts'
import { trustedIssuerReaders } from '../../src/server/serve/credentials/trusted-issuers.ts'
import { confirms, withFixture } from './accounts/fixture.ts'

const issuer = {
  issuer: 'https://id.example.com',
  jwksUri: 'https://id.example.com/jwks',
  audience: 'api',
  user: 'email' as const,
}

async function trustedIssuer() {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const keys = [{ ...(await exportJWK(publicKey)), alg: 'ES256', kid: 'one' }]
  return {
    fetchKeys: async () => ({ keys }),
    token: (email: string) =>
      new SignJWT({ sub: 'u', email, email_verified: true, scope: 'read:post' })
        .setProtectedHeader({ alg: 'ES256', kid: 'one' })
        .setIssuer(issuer.issuer)
        .setAudience(issuer.audience)
        .setExpirationTime('10m')
        .sign(privateKey),
  }
}

test('an account that a stranger created with the address is not matched before the address is confirmed', async () => {
  await withFixture({ signUp: 'open' }, async fixture => {
    const { base, user } = fixture
    const { fetchKeys, token } = await trustedIssuer()
    const settings = readSettings({ given: { 'oauth.trustedIssuers': [issuer] }, environment: {} })
    const { model, run, records } = base
    let version = 0
    const [reader] = await trustedIssuerReaders({
      model,
      run,
      records,
      version: () => version++,
      settings,
      fetchKeys,
    })
    const signedInEmail = async (email: string) => {
      const principal = await reader?.read({ place: 'bearer', text: await token(email) }, {
        headers: {},
        query: '',
      } as never)
      return principal?.userId ?? null
    }
    const answer = await signUp(base, {
      name: 'Mallory',
      email: 'victim@example.com',
      password: 'correct horse battery',
      address: '192.0.2.1',
    })
    assert.equal(answer.kind, 'ready')
    const mallorys = await findByEmail(run, 'victim@example.com')
    assert.ok(mallorys)
    assert.equal(await signedInEmail('victim@example.com'), null)
    assert.equal(await signedInEmail('Victim@Example.com'), null)
    const link = await fixture.token()
    assert.equal((await addressToConfirm(base, link))?.email, 'victim@example.com')
    assert.ok(await confirms(base, link, mallorys.id))
    assert.equal(await signedInEmail('victim@example.com'), mallorys.id)
    // An account that an administrator created is matched, until its user enters another address.
    const created = await user('made@example.com', 'correct horse battery')
    assert.equal(await signedInEmail('made@example.com'), created)
    await base.addresses.remember(created, 'before@example.com')
    assert.equal(await signedInEmail('made@example.com'), null)
  })
})

test('an address with a non-ASCII letter that lowercases to ASCII does not match', async () => {
  await withFixture({}, async ({ base: { model, run, records }, user }) => {
    const { fetchKeys, token } = await trustedIssuer()
    const settings = readSettings({ given: { 'oauth.trustedIssuers': [issuer] }, environment: {} })
    const [reader] = await trustedIssuerReaders({
      ...{ model, run, records, settings, fetchKeys },
      version: () => 0,
    })
    const signedInEmail = async (email: string) => {
      const sent = { place: 'bearer' as const, text: await token(email) }
      return (await reader?.read(sent, { headers: {}, query: '' } as never))?.userId
    }
    const kevin = await user('kevin@example.com', 'correct horse battery')
    assert.equal(await signedInEmail('KEVIN@example.com'), kevin)
    // U+212A, the Kelvin sign: its lower case is k.
    assert.equal(await signedInEmail('\u212aevin@example.com'), undefined)
  })
})
