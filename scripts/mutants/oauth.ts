/** The authorization server. */
import { type Mutant, mutantsOf } from './mutant.ts'

export const oauth: readonly Mutant[] = [
  ...mutantsOf(
    'identity/server/tokens/jwt',
    ['identity/server/tokens/signing-keys'],
    [
      ['a JWT does not expire', 'exp > seconds &&', 'exp * 1000 > seconds &&'],
      ['an unknown critical extension is ignored', " || 'crit' in header", ''],
      ['a JWT for another audience is accepted', '    aud === issuer &&\n', ''],
      ['a JWT of another issuer is accepted', '    iss === issuer &&\n', ''],
      [
        'several spellings of a JWT are accepted',
        "  if (signature.toString('base64url') !== token.slice(end + 1)) return false\n",
        '',
      ],
      ['an ID token is accepted as an access token', ' || header.typ !== tokenType', ''],
      ['a JWT from the future is accepted', '    iat <= seconds + 60\n', '    iat <= now + 60\n'],
      ['the oldest key signs', 'const [newest] = es256Keys', 'const newest = es256Keys.at(-1)'],
    ],
  ),
  ...mutantsOf(
    'identity/server/tokens/signing-keys',
    ['identity/server/tokens/signing-keys'],
    [
      [
        'retired keys are kept for milliseconds instead of seconds',
        'const trustMs = maxTokenSeconds * 1000 + marginMs',
        'const trustMs = maxTokenSeconds + marginMs',
      ],
      [
        'a retired key is retired again',
        'return key.retiredAt === null ? { ...key, retiredAt: now, endsAt: now + trustMs } : key',
        'return { ...key, retiredAt: now, endsAt: now + trustMs }',
      ],
      [
        'a concurrent rotation is lost',
        'isDone = await records.swap(record',
        'isDone = true\n    await records.swap(record',
      ],
      [
        'keys that another node created first are ignored',
        '  return loadRecord(records, now)\n',
        '  return { kind: KIND, id: ID, payload, expiresAt: null, consumedAt: null, grant: null, alias: null, owner: null }\n',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/server/tokens/deny-list',
    ['identity/server/tokens/deny-list', 'identity/access-token'],
    [
      ['denials last for milliseconds instead of seconds', 'lifetimeSeconds * 1000', 'lifetimeSeconds'],
      [
        'a grant is denied only after it is deleted',
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
        'a grant is denied by its plain id instead of its hash',
        '    async deleteGrant(grant) {\n      await deny(grantHash(grant))',
        '    async deleteGrant(grant) {\n      await deny(grant)',
      ],
      [
        'a revocation that leaves only a refresh token goes unnoticed',
        "['Grant', 'RefreshToken', ...tokenKinds]",
        "['Grant', ...tokenKinds]",
      ],
    ],
  ),
  ...mutantsOf(
    'identity/server/consent/consents',
    ['identity/server/consent/consents'],
    [
      [
        'scopes that were not ticked are remembered',
        'scopes: [...unaffected, ...allowed]',
        'scopes: [...unaffected, ...requested]',
      ],
      [
        'scopes that the user unticks stay allowed',
        'previous.filter(scope => !requested.includes(scope))',
        'previous',
      ],
      ['earlier consent is forgotten', 'scopes: [...unaffected, ...allowed]', 'scopes: allowed'],
      ['the consent of one user applies to all', 'return `${userId}:${clientId}`', 'return clientId'],
      ['revoking one app revokes all', 'if (storedGrant(record).clientId === clientId) await', 'await'],
      [
        'consent to one scope covers all requested scopes',
        'return scopes.every(scope => hasScope(allowed, scope))',
        'return scopes.some(scope => hasScope(allowed, scope))',
      ],
      [
        'an app that requests consent gets no consent page',
        "  if (oidc.prompts.has('consent')) return false\n",
        '',
      ],
      ['a revoked app keeps its tokens', '    await this.#records.deleteGrant(id)\n', ''],
    ],
  ),
  ...mutantsOf(
    'identity/server/clients/app-secrets',
    ['identity/server/clients/app-secrets'],
    [
      [
        'a rotation after the overlap was lengthened revives a secret',
        'return earliest([endOf(secret, all, overlapSeconds), endedBy(current, overlapSeconds)])',
        'return endedBy(current, overlapSeconds) ?? endOf(secret, all, overlapSeconds)',
      ],
      [
        'deleting the newest secret revives earlier ones',
        '    if (secret) await this.settle(secret.app_id)\n',
        '',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/server/tokens/device-polling',
    ['identity/conformance/tokens/device-polling'],
    [
      [
        'concurrent polls are all accepted',
        '      if (await records.add({ ...key, payload, expiresAt: now + lifeMs })) return false\n      continue\n',
        '      await records.add({ ...key, payload, expiresAt: now + lifeMs })\n      return false\n',
      ],
      [
        'the interval does not grow after an early poll',
        'isEarly ? intervalMs + firstIntervalMs : intervalMs',
        'intervalMs',
      ],
      ['an early poll does not count as the latest poll', 'at: Math.max(at, now)', 'at: isEarly ? at : now'],
    ],
  ),
  ...mutantsOf(
    'identity/server/tokens/authorization-codes',
    ['identity/conformance/requests/redirect-uri#a code is exchanged'],
    [
      [
        'a code is exchanged without the redirect URI of its request',
        'redirectUriOmitted === true) return',
        'redirectUriOmitted !== false) return',
      ],
      [
        'a client can set the marker of an omitted redirect URI',
        'normalize(sent.filter(([name]) => name !== omittedRedirectUri))',
        'normalize(sent)',
      ],
      [
        'a pushed request counts as one without a redirect URI',
        " || name === 'request_uri'",
        '',
        'the library reads only the pushed parameters of such a request',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/server/clients/client-metadata',
    ['identity/server/clients/client-metadata', 'identity/server/clients/apps'],
    [
      ['a secret works after its end', ' && (expiresAt === undefined || expiresAt > now)', ''],
      [
        'apps without redirect URIs get codes',
        "uris.length > 0 ? ['authorization_code', ...always] : always",
        "uris.length >= 0 ? ['authorization_code', ...always] : always",
      ],
    ],
  ),
  ...mutantsOf(
    'identity/server/clients/apps',
    ['identity/server/clients/app-cache', 'identity/server/clients/apps'],
    [
      [
        'an app that changes while it is read is cached',
        'cached.set(clientId, app, 1, stamp)',
        'cached.set(clientId, app, 1, currentVersion())',
      ],
      [
        'a change of a secret does not invalidate the cache',
        "version('oauth_apps') + version('oauth_app_secrets')",
        "version('oauth_apps')",
      ],
      [
        'default scopes need not be among the app’s scopes',
        'scope => !hasScope(allowed, String(scope))',
        'scope => hasScope(allowed, String(scope))',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/server/provider/adapter',
    ['identity/server/provider/adapter', 'identity/server/provider/deferred-writes'],
    [
      [
        'the marker of a JWT is accepted as a device code',
        " && (this.#kind !== 'DeviceCode' || this.#parts.isExposed())",
        " && this.#kind !== 'DeviceCode'",
      ],
      ['a code used twice keeps its grant', "      await records.delete('Grant', grant)\n", ''],
      [
        'when a session ends, another record is deleted',
        'await records.delete(record.kind, record.id)',
        'await records.delete(record.kind, uid)',
      ],
      [
        'the time of use of a code is in milliseconds instead of seconds',
        'Math.floor(record.consumedAt / 1000)',
        'record.consumedAt',
      ],
      [
        'a second use of a replay token is accepted',
        'if (!(await records.add(record))) throw replayedError()',
        'if (!records.add(record)) throw replayedError()',
      ],
      ['a used proof is forgotten while it is still accepted', '  ReplayDetection: 5 * 60_000,\n', ''],
      [
        'the secret of a self-registered app is stored in plain text',
        'secret === undefined || secret === storedHash ? secret : secretHash(secret)',
        'secret',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/server/tokens/refresh-replay',
    ['identity/server/tokens/refresh-replay-rules'],
    [
      [
        'another app gets the cached response to a refresh',
        "idOf([formText(form), ctx.get('authorization'), ctx.get('dpop')])",
        'idOf([formText(form)])',
      ],
      [
        'a refused refresh gets the cached response',
        'if (status === 200) payload',
        'if (status > 0) payload',
      ],
      [
        'responses are kept for milliseconds instead of seconds',
        'expiresAt: Date.now() + seconds * 1000',
        'expiresAt: Date.now() + seconds',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/server/tokens/introspection',
    ['identity/server/tokens/introspection'],
    [
      ['a used token is active', 'if (consumedAt !== null || token.clientId', 'if (token.clientId'],
      ['every app can introspect a token', ' || token.clientId !== app.client_id', ''],
      [
        'a token without its grant is active',
        'if (token.grantId !== undefined && !(await this.#isGranted(token, token.grantId))) return undefined',
        '',
      ],
      [
        'the token of a deleted user is active',
        '!(await this.#parts.hasAccount(Number(accountId)))',
        '!this.#parts.hasAccount(Number(accountId))',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/server/provider/deferred-writes',
    ['identity/server/provider/deferred-writes'],
    [
      [
        'only the last of several writes is awaited',
        'await Promise.allSettled(writes.map(write => write()))',
        'await Promise.allSettled(writes.map(write => write()).slice(-1))',
      ],
      ['a used code yields tokens', 'if (isProtocolError(failure.reason)) return failure.reason', 'return'],
    ],
  ),
  ...mutantsOf(
    'identity/server/provider/patches',
    ['identity/server/tokens/token-requests'],
    [
      [
        'a token gets scopes that its app has lost',
        'return allowedScope(scope, currentClient())',
        'return scope',
      ],
      [
        'a refresh to a covered scope is refused',
        'currentContext()?.oidc.params.scope === undefined ? granted : withCovered(granted)',
        'granted',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/server/sessions/sessions',
    ['identity/server/sessions/sessions'],
    [
      [
        'every user can end every session',
        'if (record?.owner !== String(userId)) return false',
        'if (!record) return false',
      ],
      [
        'ending all sessions also ends the current one',
        'if (alias !== except) await this.#end(alias, owner)',
        'await this.#end(alias, owner)',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/server/clients/registration',
    ['identity/server/clients/apps', 'identity/server/clients/registration'],
    [
      [
        'an app without a secret can use client credentials',
        "if (method === 'none' && types.includes('client_credentials')) {",
        "if (method === undefined && types.includes('client_credentials')) {",
      ],
      [
        'codes can be registered without a redirect URI',
        'if (withCode && uris.length === 0) {',
        'if (withCode && uris.length < 0) {',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/server/tokens/introspection-fast-path',
    ['identity/server/tokens/introspection-fast-path'],
    [
      ['a repeated parameter is accepted', ' || name in form || value', ' || value'],
      [
        'two ways of client authentication are accepted at once',
        "secret !== undefined || basicId === ''",
        "basicId === ''",
      ],
      [
        'the client id in the body may differ from the header’s',
        '(id ?? basicId) === basicId ?',
        'basicId.length > 0 ?',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/server/provider/adapter',
    ['identity/conformance/requests/redirect-uri'],
    [
      [
        'a removed redirect URI gets the code of a sign-in in progress',
        'return hasLost ? undefined : payload',
        'return payload',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/server/consent/interactions',
    ['identity/server/consent/interactions'],
    [['every failure ends a sign-in quietly', " && cause.name === 'SessionNotFound' ?", ' ?']],
  ),
  ...mutantsOf(
    'identity/server/tokens/jwt-format',
    ['identity/conformance/clients/client-endpoints'],
    [
      [
        'an unsigned JWT is an error at introspection',
        'if (jwtPart(token, 0) === undefined) return token',
        'if (!looksLikeJwt(token)) return token',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/trusted-issuer',
    ['identity/trusted-issuer'],
    [
      [
        'a token that is bound to a key is accepted as a bearer token',
        '    if (claims?.cnf !== undefined) throw boundToken()\n',
        '',
      ],
    ],
  ),
]
