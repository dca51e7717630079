/** A service with an app, a form and items to search. */
import assert from 'node:assert/strict'
import type { GivenSettings } from '../../../src/server/config/config.ts'
import { withService } from '../../server/serve/service.ts'
import declaration from './model.ts'
import type { Target } from './requests.ts'

const settings: GivenSettings = {
  rateLimit: 'off',
  trustProxy: 1,
  // Slow requests are to be measured, not refused.
  maxDelay: '60 s',
}

export function withTarget(use: (target: Target) => Promise<void>): Promise<void> {
  return withService(
    settings,
    async ({ url, key, call }) => {
      const body = { name: 'App', redirect_uris: ['https://app.example/cb'] }
      const created = await call('/api/v1/oauth_apps', { method: 'POST', key, body })
      assert.equal(created.status, 201, created.text)
      for (let index = 0; index < 50; index++) {
        const item = { title: `thing ${index}`, body: 'a b c d e', note: 'a'.repeat(10_000) }
        await call('/api/v1/things', { method: 'POST', key, body: item })
      }
      const page = await call('/account/sign-in')
      const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
      const cookie = page.headers
        .getSetCookie()
        .map(cookie => cookie.split(';')[0])
        .join('; ')
      assert.notEqual(csrf, '')
      const { client_id: clientId, client_secret: clientSecret } = created.json
      await use({ url, key, csrf, cookie, clientId: String(clientId), clientSecret: String(clientSecret) })
    },
    declaration,
  )
}
