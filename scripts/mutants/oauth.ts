/** The authorization server. */
import { type Mutant, mutantsOf } from './mutant.ts'

export const oauth: readonly Mutant[] = [
  ...mutantsOf(
    'auth/server/tokens/jwt',
    ['auth/server/tokens/signing-keys'],
    [
      ['a JWT does not end', 'exp > seconds &&', 'exp * 1000 > seconds &&'],
      ['an extension that nobody knows is ignored', " || 'crit' in header", ''],
      ['a JWT for another service is taken', '    aud === issuer &&\n', ''],
      ['a JWT of another issuer is taken', '    iss === issuer &&\n', ''],
      [
        'a JWT has several spellings',
        "  if (signature.toString('base64url') !== token.slice(end + 1)) return false\n",
        '',
      ],
      ['an ID token is an access token', ' || header.typ !== tokenType', ''],
      ['a JWT from the future is taken', '    iat <= seconds + 60\n', '    iat <= now + 60\n'],
      ['the oldest key signs', 'const [newest] = own', 'const newest = own.at(-1)'],
    ],
  ),
  ...mutantsOf(
    'auth/server/tokens/signing-keys',
    ['auth/server/tokens/signing-keys'],
    [
      [
        'seconds for milliseconds in how long a retired key stays',
        'const life = longest * 1000 + marginMs',
        'const life = longest + marginMs',
      ],
      [
        'a key that was retired is retired again',
        'const retiredAt = key.retiredAt ?? now',
        'const retiredAt = now',
      ],
      [
        'a key that was retired ends by the life that tokens have now',
        'endsAt: key.endsAt ?? retiredAt + life',
        'endsAt: retiredAt + life',
      ],
      [
        'a rotation that was overtaken is lost',
        'isDone = await records.swap(found',
        'isDone = true\n    await records.swap(found',
      ],
      [
        'whose keys were made first does not count',
        '  return stored(records, now)\n',
        '  return { kind: KIND, id: ID, payload, expiresAt: null, consumedAt: null, grant: null, alias: null, owner: null }\n',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/server/tokens/deny-list',
    ['auth/server/tokens/deny-list', 'auth/access-token'],
    [
      ['seconds for milliseconds in how long a denial lasts', 'life * 1000', 'life'],
      [
        'a deleted grant is denied after it is deleted',
        "if (kind === 'Grant') await deny(grantHash(id))",
        "if (kind === 'Grant') void records.delete(kind, id).then(() => deny(grantHash(id)))",
      ],
      ['a deleted token is not denied', '      if (tokenKinds.includes(kind)) await deny(id)\n', ''],
      [
        'the grants of a user are not denied',
        '      await Promise.all(grants.map(({ id }) => deny(grantHash(id))))\n',
        '',
      ],
      [
        'a grant is denied by its own id',
        '    async deleteGrant(grant) {\n      await deny(grantHash(grant))',
        '    async deleteGrant(grant) {\n      await deny(grant)',
      ],
      [
        'a revocation that leaves only a refresh token is not noticed',
        "['Grant', 'RefreshToken', ...tokenKinds]",
        "['Grant', ...tokenKinds]",
      ],
    ],
  ),
  ...mutantsOf(
    'auth/server/consent/consents',
    ['auth/server/consent/consents'],
    [
      [
        'scopes that were not ticked are remembered',
        'scopes: [...kept, ...allowed]',
        'scopes: [...kept, ...asked]',
      ],
      ['scopes that were unticked stay allowed', 'before.filter(scope => !asked.includes(scope))', 'before'],
      ['what was allowed before is forgotten', 'scopes: [...kept, ...allowed]', 'scopes: allowed'],
      ['what one user allowed is allowed for all', 'return `${userId}:${clientId}`', 'return clientId'],
      ['to revoke one app revokes all', 'if (storedGrant(record).clientId === clientId) await', 'await'],
      [
        'one scope that was allowed allows all that are asked for',
        'return scopes.every(scope => hasScope(allowed, scope))',
        'return scopes.some(scope => hasScope(allowed, scope))',
      ],
      ['an app that wants consent asked gets none', "  if (oidc.prompts.has('consent')) return false\n", ''],
      ['a revoked app keeps its tokens', '    await this.#records.deleteGrant(id)\n', ''],
    ],
  ),
  ...mutantsOf(
    'auth/server/clients/app-secrets',
    ['auth/server/clients/app-secrets'],
    [
      [
        'a rotation after the overlap was lengthened revives a secret',
        'return earliest([endOf(secret, all, overlapSeconds), endedBy(current, overlapSeconds)])',
        'return endedBy(current, overlapSeconds) ?? endOf(secret, all, overlapSeconds)',
      ],
      ['deleting the newest secret revives those before it', '    await this.settle(found.app_id)\n', ''],
      [
        'a secret that was moved from the column ends those that are newer',
        'return isMoved(one) === isMoved(other) ? one.id > other.id : isMoved(other)',
        'return one.id > other.id',
      ],
      [
        'a node that comes too late brings a deleted secret back',
        'if (made !== undefined && (await records.get(ENDED, hash))) {',
        'if (made !== undefined && !records.get(ENDED, hash)) {',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/server/tokens/device-polling',
    ['conformance/oauth/device-polling'],
    [
      [
        'of many requests at once all are in time',
        '      if (await records.add({ ...key, payload, expiresAt: now + lifeMs })) return false\n      continue\n',
        '      await records.add({ ...key, payload, expiresAt: now + lifeMs })\n      return false\n',
      ],
      [
        'a device that is too fast waits no longer than before',
        'isEarly ? intervalMs + first : intervalMs',
        'intervalMs',
      ],
      [
        'a request that came too early does not count as the last',
        'at: Math.max(at, now)',
        'at: isEarly ? at : now',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/server/tokens/authorization-codes',
    ['conformance/oauth/redirect-uri#a code is exchanged'],
    [
      [
        'a code is taken without the address that its request had',
        'redirectUriOmitted === true) return',
        'redirectUriOmitted !== false) return',
      ],
      [
        'a client marks its own request',
        'normalize(sent.filter(([name]) => name !== omittedRedirectUri))',
        'normalize(sent)',
      ],
      [
        'a pushed request counts as one without an address',
        " || name === 'request_uri'",
        '',
        'of a request that was pushed the library reads nothing but what was pushed',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/server/clients/client-metadata',
    ['auth/server/clients/client-metadata', 'auth/server/clients/apps'],
    [
      ['an ended secret works', ' && (expiresAt === undefined || expiresAt > now)', ''],
      [
        'an app without redirect URIs gets codes',
        "uris.length > 0 ? ['authorization_code', ...always] : always",
        "uris.length >= 0 ? ['authorization_code', ...always] : always",
      ],
    ],
  ),
  ...mutantsOf(
    'auth/server/clients/apps',
    ['auth/server/clients/app-cache', 'auth/server/clients/apps'],
    [
      [
        'an app that changed during its look-up is remembered',
        'cached.set(clientId, app, 1, now)',
        'cached.set(clientId, app, 1, current())',
      ],
      [
        'a change of a secret is not noticed',
        "version('oauth_apps') + version('oauth_app_secrets')",
        "version('oauth_apps')",
      ],
      [
        'default scopes need not be among the scopes',
        'scope => !hasScope(allowed, String(scope))',
        'scope => hasScope(allowed, String(scope))',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/server/provider/adapter',
    ['auth/server/provider/adapter', 'auth/server/provider/deferred-writes'],
    [
      [
        'a mark stands for a code',
        " && (this.#kind !== 'DeviceCode' || this.#parts.isExposed())",
        " && this.#kind !== 'DeviceCode'",
      ],
      ['a code used twice leaves its grant', "      await records.delete('Grant', grant)\n", ''],
      [
        'of a session that has ended another record is deleted',
        'await records.delete(record.kind, record.id)',
        'await records.delete(record.kind, uid)',
      ],
      [
        'milliseconds for seconds in when a code was used',
        'Math.floor(record.consumedAt / 1000)',
        'record.consumedAt',
      ],
      [
        'a second use of a replay token is not refused',
        'if (!(await records.add(record))) throw consumedError()',
        'if (!records.add(record)) throw consumedError()',
      ],
      [
        'the secret of an app that registered itself is stored readable',
        'secret === undefined || secret === known ? secret : secretHash(secret)',
        'secret',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/server/tokens/refresh-replay',
    ['auth/server/tokens/refresh-replay-rules'],
    [
      [
        'another app gets the answer to a refresh',
        "idOf([formText(form), ctx.get('authorization'), ctx.get('dpop')])",
        'idOf([formText(form)])',
      ],
      ['a refused refresh is answered again', 'if (status === 200) payload', 'if (status > 0) payload'],
      [
        'seconds for milliseconds in how long an answer is kept',
        'expiresAt: Date.now() + seconds * 1000',
        'expiresAt: Date.now() + seconds',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/server/tokens/introspection',
    ['auth/server/tokens/introspection'],
    [
      [
        'a token that was used up is active',
        'if (consumedAt !== null || token.clientId',
        'if (token.clientId',
      ],
      ['any app may ask about a token', ' || token.clientId !== app.client_id', ''],
      [
        'a token without its grant is active',
        'if (token.grantId !== undefined && !(await this.#isGranted(token, token.grantId))) return undefined',
        '',
      ],
      [
        'a deleted user’s token is active',
        '!(await this.#parts.hasAccount(Number(accountId)))',
        '!this.#parts.hasAccount(Number(accountId))',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/server/provider/deferred-writes',
    ['auth/server/provider/deferred-writes'],
    [
      [
        'the last of the writes is awaited only',
        'await Promise.allSettled(writes.map(write => write()))',
        'await Promise.allSettled(writes.map(write => write()).slice(-1))',
      ],
      ['a consumed code gives tokens', 'if (isProtocolError(failed.reason)) return failed.reason', 'return'],
    ],
  ),
  ...mutantsOf(
    'auth/server/provider/patches',
    ['auth/server/tokens/token-requests'],
    [
      [
        'a token gets scopes that its app has lost',
        'return allowedScope(scope, currentClient())',
        'return scope',
      ],
      [
        'a refresh for a covered scope is refused',
        'currentContext()?.oidc.params.scope === undefined ? own : withCovered(own)',
        'own',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/server/sessions/sessions',
    ['auth/server/sessions/sessions'],
    [
      [
        'anybody ends anybody’s session',
        'if (found?.owner !== String(userId)) return false',
        'if (!found) return false',
      ],
      [
        'to end all sessions spares none',
        'if (alias !== except) await this.#end(alias, owner)',
        'await this.#end(alias, owner)',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/server/clients/registration',
    ['auth/server/clients/apps', 'auth/server/clients/registration'],
    [
      [
        'an app without a secret acts by itself',
        "if (method === 'none' && types.includes('client_credentials')) {",
        "if (method === undefined && types.includes('client_credentials')) {",
      ],
      [
        'codes without a redirect URI can be registered',
        'if (withCode && uris.length === 0) {',
        'if (withCode && uris.length < 0) {',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/server/tokens/introspection-fast-path',
    ['auth/server/tokens/introspection-fast-path'],
    [
      ['a parameter that comes twice counts', ' || name in form || value', ' || value'],
      ['two ways to show the secret are taken', "secret !== undefined || shownId === ''", "shownId === ''"],
      [
        'the id in the form need not be the header’s',
        '(id ?? shownId) === shownId ?',
        'shownId.length > 0 ?',
      ],
    ],
  ),
]
