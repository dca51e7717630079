/** In a browser, a user consents to an app. */
import { test } from 'node:test'
import { connectAndDisconnect, shareBrowser } from '../browser/oauth.ts'

shareBrowser()

test('a user signs up, consents, and revokes the app, which calls the API in between; JavaScript on', () =>
  connectAndDisconnect({ javaScriptEnabled: true }))
