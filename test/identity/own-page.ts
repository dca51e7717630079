/** A page of the service’s own origin, as its requests appear to the service. */
import assert from 'node:assert/strict'
import { type Answer, call } from '../server/serve/service.ts'

export const sameOrigin = { 'Sec-Fetch-Site': 'same-origin' }

/** Posts JSON to a path of the account. */
export function postJson(
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = sameOrigin,
): Promise<Answer> {
  return call(url, { method: 'POST', body, headers })
}

/** The session’s cookie that a response sets, as a browser sends it back; undefined if there is none. */
export function sessionSet({ headers }: Pick<Answer, 'headers'>): string | undefined {
  const line = headers.getSetCookie().find(cookie => cookie.includes('portico_session='))
  return line?.split(';', 1)[0]
}

/** Signs in by JSON; returns the session's cookie. */
export async function signedInCookie(
  url: string,
  { email, password }: { readonly email: string; readonly password: string },
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const answer = await postJson(`${url}/account/sign-in`, { email, password }, { ...sameOrigin, ...headers })
  assert.equal(answer.status, 200, answer.text)
  return sessionSet(answer) ?? assert.fail('no session')
}
