// The comparison for W9: oidc-provider alone, with everything in memory, one client, no rules and no limits.
// POST /seed?n=100&lasting=1 creates codes without a browser; lasting ones yield refresh tokens.
import { createServer } from 'node:http'
import Provider from 'oidc-provider'

class MemoryAdapter {
  static #records = new Map()
  static #byGrant = new Map()
  #name

  constructor(name) {
    this.#name = name
  }

  #key(id) {
    return `${this.#name}:${id}`
  }

  async upsert(id, payload) {
    const key = this.#key(id)
    MemoryAdapter.#records.set(key, payload)
    if (payload.grantId === undefined) return
    const keys = MemoryAdapter.#byGrant.get(payload.grantId)
    if (keys) keys.push(key)
    else MemoryAdapter.#byGrant.set(payload.grantId, [key])
  }

  async find(id) {
    return MemoryAdapter.#records.get(this.#key(id))
  }

  async consume(id) {
    const payload = MemoryAdapter.#records.get(this.#key(id))
    if (payload) payload.consumed = Math.floor(Date.now() / 1000)
  }

  async destroy(id) {
    MemoryAdapter.#records.delete(this.#key(id))
  }

  async revokeByGrantId(grantId) {
    for (const key of MemoryAdapter.#byGrant.get(grantId) ?? []) MemoryAdapter.#records.delete(key)
  }
}

const port = Number(process.env.PORT)
const [clientId, clientSecret] = ['bench', 'not-a-secret-only-a-bench']
const redirectUri = 'https://app.example.com/callback'
const provider = new Provider(`http://127.0.0.1:${port}`, {
  adapter: MemoryAdapter,
  clients: [
    {
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'client_secret_post',
    },
  ],
  scopes: ['offline_access', 'read:post'],
  cookies: { keys: ['only a bench'] },
  pkce: { required: () => false },
  features: { devInteractions: { enabled: false }, introspection: { enabled: true } },
  findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
  issueRefreshToken: (_context, _client, { scopes }) => scopes.has('offline_access'),
  rotateRefreshToken: true,
  ttl: { AccessToken: 3600, AuthorizationCode: 600, RefreshToken: 86_400, Grant: 86_400 },
})

async function newCode(client, scope) {
  const grant = new provider.Grant({ accountId: '1', clientId })
  grant.addOIDCScope(scope)
  const grantId = await grant.save()
  const now = Math.floor(Date.now() / 1000)
  const common = {
    accountId: '1',
    client,
    grantId,
    redirectUri,
    scope,
    authTime: now,
    gty: 'authorization_code',
  }
  return new provider.AuthorizationCode(common).save()
}

async function seed(count, lasting) {
  const client = await provider.Client.find(clientId)
  const codes = []
  for (let n = 0; n < count; n++)
    codes.push(await newCode(client, lasting ? 'offline_access read:post' : 'read:post'))
  return JSON.stringify({ codes, clientId, clientSecret, redirectUri })
}

const callback = provider.callback()
createServer((request, response) => {
  const [path, query] = request.url.split('?')
  if (path !== '/seed') return callback(request, response)
  const parameters = new URLSearchParams(query)
  seed(Number(parameters.get('n')), parameters.has('lasting')).then(text => response.end(text))
}).listen(port, '127.0.0.1')
