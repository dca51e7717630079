/** Rules that compare fields with claims, from the signed token of a trusted issuer to the response of REST. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { anyone, claim, collection, field, model, nobody, text } from '../../src/index.ts'
import { checkModel } from '../../src/model/check/check.ts'
import { readSettings } from '../../src/server/config/config.ts'
import { createLog } from '../../src/server/observability/log.ts'
import { trustedIssuerReaders } from '../../src/server/serve/credentials/trusted-issuers.ts'
import { open } from '../../src/server/serve/serve.ts'
import { SteppedClock } from '../../src/tools/testing/clock.ts'
import { TestUsers } from '../../src/tools/testing/users.ts'

const issuer = {
  issuer: 'https://id.example.com',
  jwksUri: 'https://id.example.com/jwks',
  audience: 'api',
  user: 'email' as const,
}

const declared = checkModel(
  model({
    orders: collection({
      access: { read: field('org').eq(claim('org_id')), create: anyone, update: nobody, delete: nobody },
      fields: { org: text(), what: text() },
    }),
  }),
)

const given = {
  logLevel: 'silent',
  rateLimit: 'off',
  secretKeys: ['the-key-of-a-service-that-is-only-tested-in-memory'],
  'oauth.trustedIssuers': [issuer],
} as const

test('a rule reads the claims of a token that a trusted issuer has signed', async () => {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const settings = { ...readSettings({ given, environment: {} }), database: ':memory:' }
  const { service, run, records, rest } = await open(declared, settings, createLog(settings), {
    listen: false,
    background: false,
    simulation: { clock: new SteppedClock(new Date()), mail: { delivers: false, send: async () => {} } },
  })
  try {
    await new TestUsers(run, records, service.data).create({ email: 'ann@example.com' }, true)
    for (const org of ['acme', 'other']) await service.data.orders?.create({ org, what: `of ${org}` })
    const keys = [{ ...(await exportJWK(publicKey)), alg: 'ES256', kid: 'one' }]
    const [reader] = await trustedIssuerReaders({
      ...{ model: declared, run, records, version: () => 0, settings },
      fetchKeys: async () => ({ keys }),
    })
    const visibleOrganizations = async (claims: JWTPayload) => {
      const text = await new SignJWT({
        sub: 'u',
        email: 'ann@example.com',
        email_verified: true,
        scope: 'read:order',
        ...claims,
      })
        .setProtectedHeader({ alg: 'ES256', kid: 'one' })
        .setIssuer(issuer.issuer)
        .setAudience(issuer.audience)
        .setExpirationTime('10m')
        .sign(privateKey)
      const call = { headers: {}, method: 'GET', path: '/api/v1/orders', query: '', url: '/api/v1/orders' }
      const principal = await reader?.read({ place: 'bearer', text }, call as never)
      assert.ok(principal)
      const reply = await rest(
        { ...call, address: '127.0.0.1', requestId: 'test', body: Buffer.alloc(0) },
        principal,
      )
      const { data } = JSON.parse(String(reply.body)) as { data: readonly { readonly org: string }[] }
      return data.map(({ org }) => org)
    }
    assert.deepEqual(await visibleOrganizations({ org_id: 'acme' }), ['acme'])
    assert.deepEqual(await visibleOrganizations({ org_id: 'other' }), ['other'])
    assert.deepEqual(await visibleOrganizations({}), [])
    assert.deepEqual(await visibleOrganizations({ org_id: null as never }), [])
    assert.deepEqual(await visibleOrganizations({ org_id: ['acme', 'other'] as never }), [])
    assert.deepEqual(await visibleOrganizations({ org_id: { acme: true } as never }), [])
    assert.deepEqual(await visibleOrganizations({ orgId: 'acme', ORG_ID: 'acme' }), [])
  } finally {
    await service.close()
  }
})
