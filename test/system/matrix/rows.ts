/**
 * Which credentials are tested on which setup. The permissions of a principal do not depend on the kind of credential, and
 * the verification of a credential does not depend on the rules. So each setup tests one kind of credential for every user,
 * and most setups test the other kinds for one user. `PORTICO_MATRIX=whole` tests every combination.
 */

import { isWhole } from '../../cases.ts'
import type { Fixture } from '../../identity/conformance/server.ts'
import { postgres, postgresNodes, postgresRowSecurity, rowSecurityNodes } from '../../setups/postgres.ts'
import type { Setup } from '../../setups/setup.ts'
import { sqlite } from '../../setups/sqlite.ts'
import { type Credential, clientTokens, keys, none, scopeSets, sessions, tokens } from './credentials.ts'

type CreateCredentials = (fixture: Fixture) => Promise<readonly Credential[]>

export interface MatrixRow {
  readonly name: string
  readonly setup: Setup
  readonly credentials: CreateCredentials
  /** False for apps without a user: they own nothing, so they may write nothing. */
  readonly isOfUsers: boolean
}

/** One credential of each kind. */
const oneOfEach =
  (...kinds: readonly ('none' | 'key' | 'opaque' | 'jwt' | 'app' | 'session')[]): CreateCredentials =>
  async fixture => {
    const people = [fixture.ann]
    const creators = {
      none: async () => [none()],
      key: () => keys(fixture, ['some'], people),
      opaque: () => tokens(fixture, 'opaque', ['some'], people),
      jwt: () => tokens(fixture, 'jwt', ['some'], people),
      app: () => clientTokens(fixture, ['some']),
      session: () => sessions(fixture, people),
    }
    const credentials: Credential[] = []
    for (const kind of kinds) credentials.push(...(await creators[kind]()))
    return credentials
  }

/** Every kind of credential. `sets`: the scope sets of user credentials. */
function everyKind(setup: Setup, sets: readonly string[]): readonly MatrixRow[] {
  const kinds: Readonly<Record<string, CreateCredentials>> = {
    'no credential and keys': async fixture => [none(), ...(await keys(fixture, sets))],
    'opaque tokens': fixture => tokens(fixture, 'opaque', sets),
    'JWT access tokens': fixture => tokens(fixture, 'jwt', isWhole ? sets : ['some']),
    sessions: fixture => sessions(fixture, isWhole ? undefined : [fixture.ann]),
    'client credentials': fixture => clientTokens(fixture),
  }
  return Object.entries(kinds).map(([name, credentials]) => ({
    name,
    setup,
    credentials,
    isOfUsers: name !== 'client credentials',
  }))
}

const everySet = Object.keys(scopeSets)
const everywhere = () =>
  [sqlite, postgresNodes, rowSecurityNodes].flatMap(setup => everyKind(setup, everySet))

const rowOf = (name: string, setup: Setup, credentials: CreateCredentials): MatrixRow => ({
  name,
  setup,
  credentials,
  isOfUsers: true,
})

export function restRows(): readonly MatrixRow[] {
  if (isWhole) return everywhere()
  const sets = ['reading', 'some']
  return [
    ...everyKind(sqlite, sets),
    rowOf('opaque tokens', postgres, fixture => tokens(fixture, 'opaque', sets)),
    // Each request goes to another node, which has to verify the credential.
    rowOf('one of each other kind', postgresNodes, oneOfEach('none', 'key', 'jwt', 'app', 'session')),
  ]
}

/** Credentials are verified before REST and GraphQL differ, so the REST rows cover the other kinds. */
export function graphqlRows(): readonly MatrixRow[] {
  if (isWhole) return everywhere()
  return [
    rowOf('no credential and keys', sqlite, async fixture => [none(), ...(await keys(fixture, ['some']))]),
    rowOf('one of each other kind', sqlite, oneOfEach('opaque', 'jwt', 'app')),
    // REST covers PostgreSQL without row security. Row locks are set per connection, so one node is enough.
    rowOf('opaque tokens', postgresRowSecurity, fixture => tokens(fixture, 'opaque', ['some'])),
  ]
}
