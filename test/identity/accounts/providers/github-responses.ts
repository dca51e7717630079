/**
 * Responses of GitHub’s OAuth endpoints and API, from public recordings and GitHub’s documentation; tokens, names and
 * addresses are invented. A refused code has status 200, form-encoded unless the request accepts JSON.
 *
 * - The token endpoint's errors: github/docs, `troubleshooting-oauth-app-access-token-request-errors.md`.
 * - Tokens, `/user` with an empty address, `/user/emails`: recordings of 2015, `vendor/socialnorm/github/tests/_fixtures` in
 *   hayjay01/sharp_sharp.
 * - `/user` with neither name nor address, and addresses as plain strings, as in the API before `v3`:
 *   recordings of 2013, `spec/cassettes/Octokit_Client_Users` in octokit/octokit.rb.
 */
import type { ProviderResponse } from './stub.ts'

type Values = Readonly<Record<string, string>>

const form = 'application/x-www-form-urlencoded; charset=utf-8'
const errors = '/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors/'

function asJson(values: Values): Partial<ProviderResponse> {
  return { status: 200, type: 'application/json; charset=utf-8', body: JSON.stringify(values) }
}

function asForm(values: Values): Partial<ProviderResponse> {
  return { status: 200, type: form, body: new URLSearchParams(values).toString() }
}

const badCode = {
  error: 'bad_verification_code',
  error_description: 'The code passed is incorrect or expired.',
  error_uri: `${errors}#bad-verification-code`,
}

/** Error responses of the token endpoint, by their meaning. */
export const tokenRefusals: Readonly<Record<string, Partial<ProviderResponse>>> = {
  'the code is used or expired': asJson(badCode),
  'the code is used or expired, form-encoded': asForm(badCode),
  'the secret is wrong': asJson({
    error: 'incorrect_client_credentials',
    error_description: 'The client_id and/or client_secret passed are incorrect.',
    error_uri: `${errors}#incorrect-client-credentials`,
  }),
  'the redirect URI is not registered': asJson({
    error: 'redirect_uri_mismatch',
    error_description: 'The redirect_uri MUST match the registered callback URL for this application.',
    error_uri: `${errors}#redirect-uri-mismatch2`,
  }),
}

/** Added to the token response by a GitHub App whose tokens expire. */
export const expiringToken: Values = {
  expires_in: '28800',
  refresh_token: 'ghr_recorded',
  refresh_token_expires_in: '15897600',
}

/** A user with a private address: only `/user/emails` returns it. */
export function userOf(id: number, login: string, email: '' | null) {
  return {
    ...{ login, id, email, name: null, company: null, blog: '', location: null, bio: null, hireable: null },
    avatar_url: `https://avatars.githubusercontent.com/u/${id}?v=3`,
    gravatar_id: '',
    url: `https://api.github.com/users/${login}`,
    html_url: `https://github.com/${login}`,
    following_url: `https://api.github.com/users/${login}/following{/other_user}`,
    ...{ type: 'User', site_admin: false, public_repos: 38, followers: 54 },
    created_at: '2013-05-02T15:35:48Z',
    updated_at: '2015-02-21T17:06:00Z',
  }
}

/** GitHub’s no-reply address for commits is verified, but not primary. */
export function emailsOf(email: string, login: string) {
  return [
    { email: `${login}@users.noreply.github.com`, primary: false, verified: true, visibility: null },
    { email, primary: true, verified: true, visibility: 'private' },
  ]
}
