/** Data of accounts, written to the database of a service: connected apps, keys, identities and tokens of mailed links. */
import assert from 'node:assert/strict'
import type { Records } from '../../../src/base/records.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import { createAddresses } from '../../../src/identity/accounts/addresses/addresses.ts'
import { createIdentities } from '../../../src/identity/accounts/identities.ts'
import { createTokens } from '../../../src/identity/accounts/link-tokens.ts'
import { createKey } from '../../../src/identity/bootstrap.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { createRun } from '../../../src/server/serve/store.ts'
import asking from '../../models/sign-up-fields.ts'
import type { TestService } from '../../server/serve/service.ts'

export const email = 'ada@example.com'

const longName = 'Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunt'

/** The token of a reset link. */
export async function resetToken(file: string, userId: number): Promise<string> {
  const store = openSqlite(checkModel(asking), { file })
  try {
    return await createTokens(store.records).issue(
      'PasswordReset',
      { userId, email },
      { owner: String(userId) },
    )
  } finally {
    await store.close()
  }
}

/** Connects apps to the user, one with a missing logo; returns their client ids. */
export async function connectApps(
  { file, call, key }: TestService,
  userId: number,
): Promise<readonly string[]> {
  const make = async (name: string, more: object) => {
    const body = { name, type: 'public', redirect_uris: ['https://app.example.com/cb'], ...more }
    const { json, text } = await call('/api/v1/oauth_apps', { method: 'POST', key, body })
    assert.ok(json.client_id, text)
    return String(json.client_id)
  }
  const ids = [
    await make(longName, { homepage_uri: 'https://app.example.com' }),
    await make('تطبيق القراءة الطويل', { logo_uri: 'https://logo.example.com/none.png' }),
  ]
  const store = openSqlite(checkModel(asking), { file })
  const owner = String(userId)
  const scopes = ['openid', 'profile', 'email', 'offline_access', 'read:user', 'write:user', 'write:webhook']
  try {
    for (const clientId of ids) {
      const payload = JSON.stringify({ clientId, scopes, at: Date.now() })
      await store.records.put({
        kind: 'Consent',
        id: `${owner}:${clientId}`,
        payload,
        expiresAt: null,
        owner,
      })
    }
  } finally {
    await store.close()
  }
  return ids
}

/** Links accounts at providers, one with a long name. */
async function link(records: Records, userId: number): Promise<void> {
  const identities = createIdentities(records, Date.now)
  for (const [provider, label] of [
    ['google', email],
    ['github', `${longName}@users.noreply.example.com`],
  ] as const) {
    const profile = { issuer: `https://${provider}.example.com`, subject: '1', email: label, name: 'Ada' }
    await identities.add(
      { userId, session: 'none' },
      { provider, profile: { ...profile, emailVerified: true } },
    )
  }
}

/** Adds a key, identities and a pending address; returns the token of its link. */
export async function addAccountData(file: string, userId: number): Promise<string> {
  const model = checkModel(asking)
  const store = openSqlite(model, { file })
  try {
    await createKey(createRun(createGuard(model), store), userId, { name: 'a key', scopes: ['*'] })
    await link(store.records, userId)
    const fresh = 'ada.new@example.com'
    await createAddresses(store.records).setPending(userId, fresh)
    const claimed = { userId, email: fresh, isNew: true }
    return await createTokens(store.records).issue('AddressVerification', claimed, { owner: String(userId) })
  } finally {
    await store.close()
  }
}
