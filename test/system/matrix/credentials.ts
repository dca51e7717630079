/** Every kind of credential, in every combination of user and scopes, with the expected principal. */
import assert from 'node:assert/strict'
import { anonymous, app as ofApp, type Principal, user } from '../../../src/base/principal.ts'
import {
  type App,
  clientCredentials,
  type Fixture,
  newTokens,
  type Person,
  post,
} from '../../identity/conformance/server.ts'
import { sameOrigin, signedInCookie } from '../../identity/own-page.ts'
import { model } from './context.ts'

export interface Credential {
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  readonly who: Principal
}

export const everyScope = [...model.scopes.keys()]

/** Every scope; every read scope; a mixture; one without read access. */
export const scopeSets: Readonly<Record<string, readonly string[]>> = {
  all: everyScope,
  reading: everyScope.filter(scope => scope.startsWith('read:')),
  some: ['read:user', 'read:project', 'write:task', 'write:contact', 'read:label', 'write:label'],
  users: ['write:user'],
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })

export function none(): Credential {
  return { name: 'no credential', headers: {}, who: anonymous('127.0.0.1') }
}

export function people({ admin, ann, ben, cleo }: Fixture): readonly Person[] {
  return [admin, ann, ben, cleo]
}

function principal({ id, role }: Person, scopes: readonly string[]): Principal {
  return user(id, role, scopes.includes('*') ? 'all' : new Set(scopes))
}

/** A third-party app. */
const throughApp = { app: null, grant: null, thirdParty: true }

function principalByApp({ id, role }: Person, scopes: readonly string[]): Principal {
  return user(id, role, new Set(scopes), undefined, undefined, throughApp)
}

/** Creates a key with the user’s own key, which has every scope. */
async function createKey({ call }: Fixture, person: Person, scopes: readonly string[]): Promise<string> {
  const created = await call('/api/v1/api_keys', {
    method: 'POST',
    key: person.key,
    body: { name: 'matrix', scopes },
  })
  assert.equal(created.status, 201, created.text)
  return String(created.json.key)
}

export async function keys(
  fixture: Fixture,
  sets: readonly string[] = Object.keys(scopeSets),
  persons = people(fixture),
): Promise<Credential[]> {
  const credentials: Credential[] = []
  for (const person of persons) {
    credentials.push({
      name: `${person.name}'s key for *`,
      headers: bearer(person.key),
      who: principal(person, ['*']),
    })
    for (const name of sets) {
      const scopes = scopeSets[name] ?? []
      const key = await createKey(fixture, person, scopes)
      credentials.push({
        name: `${person.name}'s key for ${name}`,
        headers: { 'X-API-Key': key },
        who: principal(person, scopes),
      })
    }
  }
  return credentials
}

/** Tokens from the authorization code flow, each with its own consent. */
export async function tokens(
  fixture: Fixture,
  format: 'opaque' | 'jwt',
  sets: readonly string[] = Object.keys(scopeSets),
  persons = people(fixture),
): Promise<Credential[]> {
  const app = await fixture.app({
    name: `Matrix ${format}`,
    access_token_format: format,
    scopes: everyScope,
    default_scopes: null,
  })
  const credentials: Credential[] = []
  for (const person of persons) {
    const browser = fixture.browser()
    for (const name of sets) {
      const scopes = scopeSets[name] ?? []
      const options = { browser, person, scope: scopes.join(' '), parameters: { prompt: 'consent' } }
      const { access_token = '', scope = '' } = await newTokens(fixture, app, options)
      assert.deepEqual(scope.split(',').sort(), [...scopes].sort())
      assert.equal(access_token.split('.').length, format === 'jwt' ? 3 : 1)
      credentials.push({
        name: `${person.name}'s ${format} token for ${name}`,
        headers: bearer(access_token),
        who: principalByApp(person, scopes),
      })
    }
  }
  return credentials
}

/** Tokens from client credentials, which have no user, whoever owns the app. */
export async function clientTokens(
  fixture: Fixture,
  sets: readonly string[] = Object.keys(scopeSets),
): Promise<Credential[]> {
  const app: App = await fixture.app({ name: 'Matrix client', scopes: everyScope, default_scopes: null })
  const credentials: Credential[] = []
  for (const name of sets) {
    const scopes = scopeSets[name] ?? []
    const answer = await post(`${fixture.url}/oauth/token`, {
      grant_type: 'client_credentials',
      scope: scopes.join(' '),
      ...clientCredentials(app),
    })
    assert.equal(answer.status, 200, answer.text)
    credentials.push({
      name: `an app's own token for ${name}`,
      headers: bearer(String(answer.json.access_token)),
      who: ofApp(app.client_id, new Set(scopes), throughApp),
    })
  }
  return credentials
}

/** Session cookies: in requests of the same origin they have every scope, and in others they are ignored. */
export async function sessions(fixture: Fixture, persons = people(fixture)): Promise<Credential[]> {
  const credentials: Credential[] = []
  for (const [index, person] of persons.entries()) {
    const Cookie = await signedInCookie(fixture.url, person)
    const who = principal(person, ['*'])
    credentials.push({ name: `${person.name}'s session`, headers: { Cookie, ...sameOrigin }, who })
    if (index > 0) continue
    const foreign = { Cookie, 'Sec-Fetch-Site': 'same-site', Origin: 'https://evil.example' }
    credentials.push({ ...none(), name: `${person.name}'s session from another origin`, headers: foreign })
  }
  return credentials
}
