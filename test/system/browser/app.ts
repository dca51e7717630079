/** A third-party app: it sends browsers to the service, and receives them back with a code. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestService } from '../../server/serve/service.ts'

export interface OtherApp {
  readonly clientId: string
  /** The authorization URL for a browser that wants to sign in. */
  authorizeUrl(scope: string): string
  /** The parameters with which the last browser returned. */
  arrived(): URLSearchParams
  /** Exchanges the code with which it returned. */
  accessToken(): Promise<string>
}

/** Runs `use` with an app of the administrator, which waits for browsers. */
export async function withApp(service: TestService, use: (app: OtherApp) => Promise<void>): Promise<void> {
  let last = new URLSearchParams()
  const server = createServer((req, res) => {
    const url = new URL(req.url ?? '/', 'http://app')
    if (url.pathname === '/callback') last = url.searchParams
    res
      .setHeader('Content-Type', 'text/html')
      .end('<!doctype html><title>App</title><h1>Back at the app</h1>')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`
  const { status, json, text } = await service.call('/api/v1/oauth_apps', {
    method: 'POST',
    key: service.key,
    body: {
      name: 'Reading List',
      type: 'confidential',
      redirect_uris: [redirectUri],
      scopes: ['openid', 'profile', 'email', 'offline_access', 'read:user', 'read:post', 'write:post'],
      homepage_uri: 'https://reading-list.example.com',
    },
  })
  assert.equal(status, 201, text)
  const clientId = String(json.client_id)
  const secret = String(json.client_secret)
  try {
    await use({
      clientId,
      arrived: () => last,
      authorizeUrl(scope) {
        const query = {
          response_type: 'code',
          client_id: clientId,
          redirect_uri: redirectUri,
          scope,
          state: 'a state',
        }
        return `${service.url}/oauth/authorize?${new URLSearchParams(query)}`
      },
      async accessToken() {
        const code = last.get('code')
        assert.ok(code, last.toString())
        const body = new URLSearchParams({
          grant_type: 'authorization_code',
          code,
          redirect_uri: redirectUri,
          client_id: clientId,
          client_secret: secret,
        })
        const response = await fetch(`${service.url}/oauth/token`, { method: 'POST', body })
        const answer = (await response.json()) as { access_token?: string }
        assert.ok(answer.access_token, JSON.stringify(answer))
        return answer.access_token
      },
    })
  } finally {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
}
