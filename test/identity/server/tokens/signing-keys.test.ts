import assert from 'node:assert/strict'
import { sign } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { openSqlite } from '../../../../src/engine/store/sqlite/sqlite.ts'
import { TokenSigner } from '../../../../src/identity/server/tokens/jwt.ts'
import {
  keysVersion,
  loadKeys,
  publicKey,
  rotateKeys,
} from '../../../../src/identity/server/tokens/signing-keys.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { databaseKinds } from '../../../engine/store/databases.ts'
import blog from '../../../models/blog.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-keys-'))
after(() => rmSync(folder, { recursive: true, force: true }))
let count = 0
const open = (file = join(folder, `${++count}.db`)) => ({
  file,
  store: openSqlite(checkModel(blog), { file }),
})

const hourMs = 3_600_000
const issuer = 'https://a.example'
const claims = {
  iss: issuer,
  aud: issuer,
  sub: '7',
  client_id: 'app',
  iat: 1000,
  exp: 2000,
  jti: 'j',
  scope: 'read:post',
}

test('keys are created once by concurrent starts', async () => {
  const { file, store } = open()
  const other = open(file).store
  const [one, two] = await Promise.all([loadKeys(store.records), loadKeys(other.records)])
  assert.deepEqual(one, two)
  assert.deepEqual(
    one.map(({ jwk }) => jwk.alg),
    ['ES256', 'RS256'],
  )
  assert.deepEqual(await loadKeys(store.records), one)
  await store.close()
  await other.close()
})

test('a retired key stays trusted until its stored expiry, even if tokens have a shorter life now', async () => {
  const { store } = open()
  const { records } = store
  const [first] = await loadKeys(records, 0)
  await rotateKeys(records, 24 * 3600, 10 * hourMs)
  await rotateKeys(records, 3600, 20 * hourMs)
  const kids = (await loadKeys(records)).map(({ jwk }) => jwk.kid)
  assert.ok(first && kids.includes(first.jwk.kid))
  await rotateKeys(records, 3600, 35 * hourMs)
  const later = (await loadKeys(records)).map(({ jwk }) => jwk.kid)
  assert.ok(!later.includes(first.jwk.kid))
  await store.close()
})

test('after a rotation new keys come first, and old ones stay until their tokens have expired', async () => {
  const { store } = open()
  const { records } = store
  const first = await loadKeys(records, 0)
  const before = keysVersion(records)
  const rotated = await rotateKeys(records, 3600, 10 * hourMs)
  assert.ok(keysVersion(records) > before)
  const second = await loadKeys(records)
  assert.deepEqual(
    second.map(({ jwk }) => jwk.kid),
    [...rotated, ...first.map(({ jwk }) => jwk.kid)],
  )
  assert.deepEqual(
    second.map(({ retiredAt }) => retiredAt),
    [null, null, 10 * hourMs, 10 * hourMs],
  )
  // A token that was signed at the last moment lives for an hour, and the published key stays for one more.
  await rotateKeys(records, 3600, 12 * hourMs - 1)
  assert.equal((await loadKeys(records)).length, 6)
  await rotateKeys(records, 3600, 12 * hourMs)
  const kids = (await loadKeys(records)).map(({ jwk }) => jwk.kid)
  assert.equal(kids.length, 6)
  for (const { jwk } of first) assert.ok(!kids.includes(jwk.kid))
  assert.equal(new Set(kids).size, kids.length)
  await store.close()
})

for (const kind of databaseKinds) {
  test(`concurrent rotations run one after the other, and lose no key (${kind.name})`, async () => {
    await kind.within(async database => {
      const stores = await Promise.all([1, 2, 3].map(() => database.open(checkModel(blog))))
      const [first] = stores
      assert.ok(first)
      const before = await loadKeys(first.records)
      const rotations = stores.flatMap(({ records }) => [
        rotateKeys(records, 3600),
        rotateKeys(records, 3600),
      ])
      const rotated = await Promise.all(rotations)
      const keys = await loadKeys(first.records)
      const kids = keys.map(({ jwk }) => jwk.kid)
      assert.deepEqual([...kids].sort(), [...rotated.flat(), ...before.map(({ jwk }) => jwk.kid)].sort())
      const signing = keys.filter(({ retiredAt }) => retiredAt === null).map(({ jwk }) => jwk.kid)
      assert.ok(rotated.some(pair => isDeepStrictEqual(pair, signing)))
      assert.deepEqual(kids.slice(0, 2), signing)
      await Promise.all(stores.map(store => store.close()))
    })
  })
}

test('tokens of retired keys are still accepted', async () => {
  const { store } = open()
  const old = new TokenSigner(await loadKeys(store.records, 0)).sign(claims)
  await rotateKeys(store.records, 3600, hourMs)
  const signer = new TokenSigner(await loadKeys(store.records))
  assert.deepEqual(signer.verify(old, issuer, 1_500_000), claims)
  assert.notEqual(signer.sign(claims).split('.')[0], old.split('.')[0])
  await store.close()
})

test('a retired key is dropped when its tokens have expired, or at once if the rotation says so', async () => {
  const { store } = open()
  const { records } = store
  const old = new TokenSigner(await loadKeys(records, 0)).sign({ ...claims, exp: 1e9 })
  await rotateKeys(records, 3600, hourMs)
  const signer = new TokenSigner(await loadKeys(records))
  // An hour for its tokens, and one more.
  assert.ok(signer.verify(old, issuer, 3 * hourMs - 1))
  assert.equal(signer.verify(old, issuer, 3 * hourMs), undefined)
  const fresh = signer.sign({ ...claims, exp: 1e9 })
  const rotated = await rotateKeys(records, 3600, 2 * hourMs, true)
  const keys = await loadKeys(records)
  assert.deepEqual(
    keys.map(({ jwk }) => jwk.kid),
    rotated,
  )
  for (const token of [old, fresh])
    assert.equal(new TokenSigner(keys).verify(token, issuer, 2 * hourMs), undefined)
  await store.close()
})

test('a JWT is accepted exactly if jose accepts it: signed by our keys, valid now, and for this issuer', async () => {
  const { store } = open()
  const keys = await loadKeys(store.records)
  const signer = new TokenSigner(keys)
  const token = signer.sign(claims)
  const published = {
    keys: keys.map(key => ({
      ...publicKey(key).export({ format: 'jwk' }),
      kid: key.jwk.kid,
      alg: key.jwk.alg,
    })),
  }
  assert.ok(published.keys.every(key => !('d' in key)))
  const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(published), {
    issuer,
    audience: issuer,
    typ: 'at+jwt',
    currentDate: new Date(1_500_000),
  })
  assert.deepEqual([payload, protectedHeader.alg], [claims, 'ES256'])
  assert.equal(signer.verify(token, issuer, 2_000_000), undefined)
  assert.equal(signer.verify(token, issuer, 900_000), undefined)
  assert.equal(signer.verify(token, 'https://b.example', 1_500_000), undefined)
  for (const wrong of [
    { aud: 'x' },
    { iss: 'x' },
    { exp: 'x' },
    { exp: Number.NaN },
    { jti: 1 },
    { sub: 7 },
    { iat: null },
  ]) {
    const rotated = signer.sign({ ...claims, ...wrong } as typeof claims)
    assert.equal(signer.verify(rotated, issuer, 1_500_000), undefined, JSON.stringify(wrong))
  }
  await store.close()
})

test('changing any byte of a JWT invalidates it, and its header must be exactly ours', async () => {
  const { store } = open()
  const keys = await loadKeys(store.records)
  const signer = new TokenSigner(keys)
  const token = signer.sign(claims)
  const [header = '', payload = '', signature = ''] = token.split('.')
  for (let at = 0; at < token.length; at++) {
    const other = token[at] === 'A' ? 'B' : 'A'
    assert.equal(
      signer.verify(token.slice(0, at) + other + token.slice(at + 1), issuer, 1_500_000),
      undefined,
    )
  }
  // The last character has unused bits: sixteen of them encode the same signature.
  for (const last of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') {
    const spelt = token.slice(0, -1) + last
    assert.equal(signer.verify(spelt, issuer, 1_500_000) !== undefined, spelt === token, last)
  }
  const ec = keys.find(({ jwk }) => jwk.alg === 'ES256')
  assert.ok(ec)
  const { kid } = ec.jwk
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signedWith = (head: object) => {
    const text = `${encoded(head)}.${payload}`
    return `${text}.${sign('sha256', Buffer.from(text), { key: ec.jwk, format: 'jwk', dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
  }
  const right = { alg: 'ES256', typ: 'at+jwt', kid }
  assert.ok(signer.verify(signedWith(right), issuer, 1_500_000))
  for (const head of [
    { ...right, alg: 'none' },
    { ...right, alg: 'HS256' },
    { ...right, alg: 'RS256' },
    { ...right, typ: 'JWT' },
    { ...right, typ: undefined },
    { ...right, kid: undefined },
    { ...right, kid: 'x' },
    { ...right, kid: '__proto__' },
    { ...right, crit: ['exp'] },
    { ...right, crit: [] },
  ]) {
    assert.equal(signer.verify(signedWith(head), issuer, 1_500_000), undefined, JSON.stringify(head))
  }
  assert.equal(signer.verify(`${header}.${payload}.`, issuer, 1_500_000), undefined)
  assert.equal(signer.verify(`${header}.${payload}.${signature}=`, issuer, 1_500_000), undefined)
  assert.equal(signer.verify(`${token}.x`, issuer, 1_500_000), undefined)
  await store.close()
})
