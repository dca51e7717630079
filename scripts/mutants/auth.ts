/** Credentials, accounts, and encryption at rest. */
import { type Mutant, mutantsOf } from './mutant.ts'

const credentials: readonly Mutant[] = [
  ...mutantsOf(
    'identity/access-token',
    ['identity/access-token'],
    [
      [
        'a token cached by its text does not expire',
        'cachedByText !== undefined && cachedByText.expiresAt > this.#now()',
        'cachedByText !== undefined',
      ],
      [
        'a token cached by its hash does not expire',
        'cached !== undefined && cached.expiresAt > this.#now()',
        'cached !== undefined',
      ],
      ['deleting a grant does not invalidate the cache', "      records.version('Grant') +\n", ''],
      [
        'deleting a token of an app without a user does not invalidate the cache',
        "      records.version('ClientCredentials') +\n",
        '',
      ],
      ['a change of an app does not invalidate the cache', "      version('oauth_apps') +\n", ''],
      ['a change of a user does not invalidate the cache', "      version('users') +\n", ''],
      [
        'a verified JWT stays valid after its key is removed',
        'if (verified?.keysVersion === keysVersion(this.#options.records))',
        'if (verified !== undefined)',
      ],
      [
        'a JWT that lives longer than its denial is accepted',
        'if (exp - iat > this.#options.accessSeconds || (hasUser',
        'if ((hasUser',
      ],
      [
        'a JWT of a user without a grant is accepted',
        'if (exp - iat > this.#options.accessSeconds || (hasUser && grant === undefined))',
        'if (exp - iat > this.#options.accessSeconds)',
      ],
      ['a JWT expires in 1970', 'expiresAt: exp * 1000', 'expiresAt: exp'],
      [
        'the remaining life of a grant is computed in seconds instead of milliseconds',
        '(refreshSeconds - accessSeconds) * 1000',
        '(refreshSeconds - accessSeconds)',
      ],
      [
        'a role that changes while it is read is cached',
        'if (user) this.#roles.set(id, user.role, 1, usersVersion)',
        "if (user) this.#roles.set(id, user.role, 1, version('users'))",
      ],
      [
        'the deny list is not checked for the grant',
        'denied.has(jti) || (grant !== undefined && denied.has(grant))',
        'denied.has(jti)',
      ],
      [
        'a key-bound token is accepted without a proof',
        'if (accepted.jkt === undefined) return accepted.principal',
        'return accepted.principal',
      ],
      [
        'an unbound token is accepted with any proof',
        "      if (jkt === undefined) {\n        throw dpopRefusal('invalid_token', 'The token is bound to no key', 'Send it as `Bearer …`.')\n      }\n      return source.proven ?",
        '      return source.proven || jkt === undefined ?',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/keys/api-key',
    ['identity/keys/api-key', 'identity/keys/key-origins'],
    [
      [
        'a key whose grant has ended still works',
        'const isUsable = row?.user && !isDisabled && !hasEnded',
        'const isUsable = row?.user && !isDisabled',
      ],
      [
        'the version is taken after the look-up',
        'principalNow(remember(hash, found, stamp))',
        'principalNow(remember(hash, found, currentStamp()))',
      ],
      ['a key lasts for one millisecond more', 'owner.expiresAt <= nowMs', 'owner.expiresAt < nowMs'],
      [
        'a key created with another key outlives it',
        'present, undefined, expiresAt, delegate',
        'present, undefined, undefined, delegate',
      ],
      [
        'any text of the right length is accepted as a configured key',
        "if (place === 'bearer' && !text.startsWith('pk_') && hash !== adminHash) return undefined",
        "if (place === 'bearer' && text.startsWith('pk_') && hash !== adminHash) return undefined",
      ],
    ],
  ),
  ...mutantsOf(
    'identity/keys/key-bounds',
    ['identity/keys/key-bounds'],
    [
      [
        'a key may be prolonged beyond its changer',
        '      if (end > principal.expiresAt) refuse(principal)\n',
        '',
      ],
      [
        'a replacement without an expiry time keeps the old one',
        "const keeps = shape.kind === 'update' && shape.mode === 'merge'",
        "const keeps = shape.kind === 'update'",
      ],
      ['an inherited expiry time is treated as none', '[...shape.set, ...computed].find', 'shape.set.find'],
      [
        'another user’s key can be read',
        'key?.user_id !== principal.userId || end',
        'key === undefined || end',
      ],
      ['a key with more scopes may be prolonged', '      requireRights(key, principal)\n', ''],
      [
        'an app may prolong keys of its user',
        'access.thirdParty && third_party !== true',
        'third_party === false',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/keys/new-key',
    ['identity/keys/api-key', 'identity/keys/api-keys'],
    [
      [
        'a key inherits scopes that only apps can have',
        '[...scopes].filter(scope => !openidScopes.has(scope)).sort()',
        '[...scopes].sort()',
      ],
      [
        'a key does not inherit the expiry of the key that created it',
        'Number.isFinite(expiresAt) && {',
        'Number.isNaN(expiresAt) && {',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/credentials',
    ['identity/credentials'],
    [
      ['one of two different credentials is accepted', 'if (texts.size > 1)', 'if (texts.size > 2)'],
      [
        'a key in the query is not removed if its parameter name is percent-encoded',
        "if (decodeComponent(name) !== 'api_key') return true",
        "if (name !== 'api_key') return true",
      ],
      [
        'only the first key is removed from the query',
        "    keys.push(equalsIndex === -1 ? '' : (decodeComponent(part.slice(equalsIndex + 1)) ?? ''))\n    return false",
        "    keys.push(equalsIndex === -1 ? '' : (decodeComponent(part.slice(equalsIndex + 1)) ?? ''))\n    return keys.length > 1",
      ],
    ],
  ),
  ...mutantsOf(
    'identity/authenticate',
    ['identity/keys/api-key'],
    [
      [
        'an unrecognised credential is treated as anonymous',
        '    return requirePrincipal(null)\n',
        '    return anonymous(budgetAddress)\n',
      ],
      [
        'after one reader refuses a credential, the next one tries it',
        'if (principal !== undefined) return then(principal, requirePrincipal)',
        'if (principal) return then(principal, requirePrincipal)',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/password',
    ['identity/password'],
    [
      [
        'one hash more than the maximum is computed at once',
        'if (runningHashes >= maxParallelHashes) {',
        'if (runningHashes > maxParallelHashes) {',
      ],
      ['a slot that is handed over is also released', '    else runningHashes--\n', '    runningHashes--\n'],
    ],
  ),
  ...mutantsOf(
    'identity/dpop',
    ['identity/dpop'],
    [
      [
        'a proof from the future is accepted',
        'Math.abs(this.#options.now() - iat * 1000) > windowMs',
        'this.#options.now() - iat * 1000 > windowMs',
      ],
      [
        'proofs are remembered for milliseconds instead of seconds',
        'iat * 1000 + windowMs + 1000',
        'iat + windowMs + 1000',
      ],
      [
        'a proof for another token is accepted',
        "if (ath !== hash('sha256', token, 'base64url')) {",
        'if (ath === undefined) {',
      ],
      ['a proof for another method is accepted', 'if (htm !== method) throw', 'if (htm === undefined) throw'],
      [
        'a proof of one key uses up another key’s proof with the same id',
        'JSON.stringify([thumbprint, jti])',
        'JSON.stringify([jti])',
      ],
      [
        'the check whether a proof is new is not awaited',
        'const isNew = await this.#options.records.add',
        'const isNew = this.#options.records.add',
      ],
      [
        'a proof with a private key in its header is accepted',
        'if (privateMembers.some(name => name in jwk)) throw',
        'if (privateMembers.every(name => name in jwk)) throw',
      ],
      [
        'a proof with another key than the token’s is accepted',
        'if ((await thumbprintOf(jwk)) !== thumbprint) {',
        'if ((await thumbprintOf(jwk)) === undefined) {',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/trusted-issuer',
    ['identity/trusted-issuer'],
    [
      [
        'keys are cached forever',
        'this.#cached !== undefined && now - this.#cached.fetchedAt <= maxKeyAgeMs',
        'this.#cached !== undefined',
      ],
      [
        'each unknown key fetches the key set',
        'this.#fetching === undefined && now - this.#triedAt > this.#pause()',
        'this.#fetching === undefined',
      ],
      [
        'a token is cached until it expires, even if its issuer revokes it',
        'Math.min(end, now() + maxKeyAgeMs)',
        'end',
      ],
      [
        'an address counts as verified unless the issuer denies it',
        'isVerified === true ? emailFrom',
        'isVerified !== false ? emailFrom',
      ],
      ['a token is accepted after it has expired', 'cached && cached.expiresAt > now()', 'cached'],
      ['the version is read after the lookup', '}, 1, usersVersion)', "}, 1, version('users'))"],
      [
        'the expiry of a token is read as milliseconds instead of seconds',
        'Number(claims.exp) * 1000',
        'Number(claims.exp)',
      ],
      ['unknown scopes are accepted', 'names.filter(name => knownScopes.has(name))', 'names'],
      ['the audience is not checked', '      audience: issuer.audience,\n', ''],
      ['tokens without an expiry are accepted', "requiredClaims: ['exp', 'sub']", "requiredClaims: ['sub']"],
    ],
  ),
]

const encryption: readonly Mutant[] = [
  ...mutantsOf(
    'identity/encryption/record-cipher',
    ['identity/encryption/record-cipher', 'identity/encryption/open-records'],
    [
      [
        'an encrypted value can be decrypted in any record',
        'decipher.setAAD(Buffer.from(name))',
        "decipher.setAAD(Buffer.from(''))",
      ],
      [
        'only the newest key decrypts',
        'this.#source.keys().find(candidate => candidate.id === id)',
        'this.#source.keys().slice(0, 1).find(candidate => candidate.id === id)',
      ],
      [
        'pseudonyms under older keys are not found',
        '[pseudonym(newest), ...older.map(pseudonym)]',
        '[pseudonym(newest), ...older.slice(1).map(pseudonym)]',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/encryption/encrypted-records',
    ['identity/encryption/record-cipher', 'identity/encryption/open-records'],
    [
      [
        'the user code of a device is stored in plain text',
        'const hidesAlias = alias !== undefined && hiddenAliases.has(kind)',
        'const hidesAlias = alias !== undefined && hiddenAliases.has(alias)',
      ],
      [
        'the payload of a swap is not encrypted',
        'this.#inner.swap(key, stored.payload, this.#cipher.encrypt(name, after))',
        'this.#inner.swap(key, stored.payload, after)',
      ],
      [
        'a swap replaces a payload that has changed',
        '!stored || this.#cipher.decrypt(name, stored.payload) !== before',
        '!stored',
      ],
      ['the secrets of one-time codes are not encrypted', "  'Totp',\n", ''],
    ],
  ),
  ...mutantsOf(
    'identity/encryption/open-records',
    ['identity/encryption/open-records'],
    [
      [
        'a wrong key is noticed only when something is opened',
        "  requireMatchingKey(recordCipher, check?.payload ?? '')\n",
        '',
      ],
      [
        'the older key is forgotten before everything is encrypted again',
        '    await reencryptAll(records, cipherOf(keyTexts))\n',
        '',
      ],
      ['the rotation does not wait until running services know the new key', '    await wait()\n', ''],
    ],
  ),
]

const accounts: readonly Mutant[] = [
  ...mutantsOf(
    'identity/accounts/sign-in/throttle',
    ['identity/accounts/sign-in/throttle'],
    [
      [
        'an attempt that one limit refuses counts towards the other limits',
        '    for (const { key, windowSeconds, budget } of results) {\n      if (budget.granted) counters.give(key, 1, windowSeconds)\n    }\n',
        '',
      ],
      [
        'success refunds only its own attempt',
        'counters.give(pair.key, pair.attempts, pair.windowSeconds)',
        'counters.give(pair.key, 1, pair.windowSeconds)',
      ],
      [
        'an account’s attempts from all addresses count as one pair',
        '${name}:pair:${accountHash}:${address}',
        '${name}:pair:${accountHash}',
      ],
      [
        'the waiting time is computed from milliseconds',
        'Math.ceil(end - nowMs / 1000)',
        'Math.ceil(end - nowMs)',
      ],
      [
        'budgets that are returned synchronously are shared',
        'await budget : { ...budget }',
        'await budget : budget',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/accounts/link-tokens',
    [
      'identity/accounts/recovery/reset',
      'identity/accounts/sign-up/sign-up',
      'identity/accounts/sign-in/sign-in',
    ],
    [
      [
        'a used link still opens its page',
        'return record && record.consumedAt === null ? record : undefined',
        'return record',
      ],
      [
        'concurrent requests all redeem a link',
        '!(await records.consume(kind, record.id))',
        '!records.consume(kind, record.id)',
      ],
      ['the second step is valid for an hour', 'SecondFactor: 5 * minuteMs', 'SecondFactor: 60 * minuteMs'],
      [
        'a reset link is valid for a day',
        'PasswordReset: 60 * minuteMs',
        'PasswordReset: 24 * 60 * minuteMs',
      ],
      [
        'links are stored unhashed',
        "import { randomSecret, secretHash } from '../server/secret.ts'",
        "import { randomSecret } from '../server/secret.ts'\nconst secretHash = (token: string) => token",
      ],
    ],
  ),
  ...mutantsOf(
    'identity/accounts/sign-in/one-time-codes',
    ['identity/accounts/sign-in/one-time-codes', 'identity/accounts/sign-in/sign-in'],
    [
      ['a code of one user uses up another user’s code', 'id: `${userId}:${counter}`', 'id: `${counter}`'],
      [
        'the lifetime of a used code is in seconds instead of milliseconds',
        '(2 * clockPeriods + 2) * periodSeconds * 1000',
        '(2 * clockPeriods + 2) * periodSeconds',
      ],
      [
        'confirming codes again returns new recovery codes',
        'if (!stored || stored.confirmed) return undefined',
        'if (!stored) return undefined',
      ],
      [
        'recovery codes work before codes are turned on',
        'if (!stored?.confirmed) return false',
        'if (!stored) return false',
      ],
      ['a code is accepted five minutes later', 'const clockPeriods = 1', 'const clockPeriods = 10'],
      [
        'a used one-time code works again',
        'const counter = Math.floor(nowMs / 1000 / periodSeconds) + delta',
        'const counter = Math.floor(nowMs / 1000 / periodSeconds)',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/accounts/sign-in/recovery-codes',
    ['identity/accounts/sign-in/one-time-codes'],
    [
      [
        'a recovery code must be entered with its dash',
        "code.toLowerCase().replace(/[^a-z0-9]/g, '')",
        'code.toLowerCase()',
      ],
      [
        'a recovery code works repeatedly',
        'if (await records.swap(stored, stored.payload, payloadOf(remaining))) return true',
        'return true',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/accounts/recovery/reset',
    ['identity/accounts/recovery/reset', 'identity/accounts/sign-in/sign-in', 'identity/accounts/links'],
    [
      [
        'a link stays valid after a change of the address',
        "if (user?.email !== stored.email) return { kind: 'over' }",
        "if (!user) return { kind: 'over' }",
      ],
      [
        'a change with the old password replaces the password of a reset',
        "  if (!(await hasSamePassword(base.run, user))) return { kind: 'over' }\n",
        '',
      ],
      [
        'an unproven address gets a link',
        'if (!user || !(await addresses.isTrusted(user.id, user.email))) return',
        'if (!user) return',
      ],
      [
        'a stranger’s old one-time codes stay after a reset',
        '(await addresses.isUnproven(user.id)) || (await',
        '(await',
      ],
      [
        'access to mail alone bypasses one-time codes by a reset',
        'isYoungerThan(user.id, suspectCodesAgeMs)',
        'isOn(user.id)',
      ],
      ['the requesting session ends too', 'const extent = { exceptSession, keys,', 'const extent = { keys,'],
      [
        'the link is consumed before the password is hashed',
        "  const passwordHash = await hashPassword(password)\n  const pending = await tokens.redeem<PendingReset>('PasswordReset', token)\n",
        "  const pending = await tokens.redeem<PendingReset>('PasswordReset', token)\n  const passwordHash = await hashPassword(password)\n",
      ],
    ],
  ),
  ...mutantsOf(
    'identity/accounts/recovery/account-recovery',
    ['identity/accounts/recovery/account-recovery', 'identity/accounts/recovery/reset'],
    [
      [
        'a pending second step survives a reset',
        "  'SecondFactor',\n  'AddressVerification',",
        "  'AddressVerification',",
      ],
      [
        'an attacker’s known device survives a reset',
        "  'KnownDevice',\n  'PasswordReset',",
        "  'PasswordReset',",
      ],
      ['a pending sign-in survives a reset', "    yield { kind: 'put', record: end }\n", ''],
      [
        'keys that are created during a reset stay',
        '  if (extent.keys) await removeKeysAndWebhooks(run, userId)\n',
        '',
      ],
      [
        'confirming an address keeps what other sessions have created',
        '.session === session) continue',
        '.session !== undefined) continue',
      ],
      [
        'recovery codes stay when the one-time codes are removed',
        "      if (kind === 'Totp') await records.deleteOwned(owner, codeKinds)\n",
        '',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/accounts/sign-in/known-devices',
    ['identity/accounts/sign-in/lock-out#device|secret'],
    [
      [
        'a known device of one account is known to all',
        '(await findRecords(secrets)).find(({ owner }) => owner === String(userId))',
        '(await findRecords(secrets))[0]',
      ],
      ['the newest devices are removed first', 'createdAt(b) - createdAt(a)', 'createdAt(a) - createdAt(b)'],
      [
        'a secret that was planted in the browser becomes a known device',
        'const secret = randomSecret()',
        'const secret = secrets[0] ?? randomSecret()',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/accounts/addresses/addresses',
    [
      'identity/accounts/addresses/addresses',
      'identity/accounts/recovery/reset',
      'identity/accounts/sign-up/sign-up',
    ],
    [
      [
        'a confirmed address stays confirmed when it changes',
        'stored?.verified === true && stored.email === email',
        'stored?.verified === true',
      ],
      [
        'an account created by sign-up stays unproven',
        'stored?.signedUp === true && !stored.verified',
        'stored?.signedUp === true',
      ],
    ],
  ),
  ...mutantsOf(
    'identity/accounts/sign-in/sign-in',
    ['identity/accounts/sign-in/sign-in'],
    [
      [
        'a password that is changed during a sign-in signs in',
        '!isRight || !(await hasSamePassword(run, user))) return wrong\n  attempts.succeed(key, address, device)\n  if (await',
        '!isRight) return wrong\n  attempts.succeed(key, address, device)\n  if (await',
      ],
      [
        'a second step signs in twice',
        "  if (!(await tokens.redeem('SecondFactor', token))) return { kind: 'over' }\n",
        '',
      ],
      [
        'guesses of codes are not counted',
        '  const key = `code:${user.id}`\n',
        '  const key = `code:${token}`\n',
      ],
      [
        'confirmations of a password are not counted',
        '  const key = `confirm:${userId}`\n',
        '  const key = `confirm:${userId}:${password}`\n',
      ],
      [
        'a user with one-time codes signs in without one',
        'if (await codes.isOn(user.id)) {',
        'if (!codes.isOn(user.id)) {',
      ],
    ],
  ),
]

const personalDataTests = ['identity/accounts/self-service/personal-data#SQLite']
const deletionTests = ['delivery/deletions/accounts#SQLite: a deletion', ...personalDataTests]

const personalData: readonly Mutant[] = [
  ...mutantsOf('identity/accounts/self-service/own-data', personalDataTests, [
    ['what is not personal is exported', 'reference.personal === false ||', 'false ||'],
    [
      'items along marked relations are missing',
      'const filter = target && markedBy(collections, target, user)\n    return filter ?',
      'const filter = target && markedBy(collections, target, user)\n    return false && filter ?',
    ],
    ['items reveal a field that their person may not read', '|| !isShown(field)', ''],
  ]),
  ...mutantsOf('engine/plan/dependents', deletionTests, [
    [
      'items that are deleted too block a deletion',
      '!blocking.has(place) && !(await isDeletedWith(run, model, item, root))',
      '!blocking.has(place)',
    ],
  ]),
  ...mutantsOf('delivery/deletions/sliced-deletion', deletionTests, [
    [
      'a refused clearing of an item that is deleted too is final',
      '!(await this.#isDeletedToo(',
      '(await this.#isDeletedToo(',
    ],
    [
      'an item is deleted although a reference to it may not be cleared',
      'if (refused !== undefined) return refused',
      'void refused',
    ],
    ['a chain is deleted from its start', '.slice(1).reverse()', '.slice(1)'],
  ]),
  ...mutantsOf('identity/accounts/self-service/data-export', personalDataTests, [
    [
      'a copy has what its person may not read',
      'ids.slice(0, limit)] },\n    principal,',
      'ids.slice(0, limit)] },\n    system,',
    ],
    ['a copy has more than the scopes of the credential', 'if (!hasScope(', 'if (false && !hasScope('],
  ]),
  ...mutantsOf('identity/accounts/self-service/deletion', deletionTests, [
    ['a deletion begins that items block', 'blocker !== undefined', 'false'],
    ['an account that is being deleted is exported', '  await requireNoDeletion(records, userId)\n', ''],
    ['a deletion begins that a rule refuses', 'if (refused === undefined) continue', 'continue'],
    [
      'an account is used while it is deleted',
      'yield { shape: setDisabled, args: [id, true] }',
      'yield { shape: setDisabled, args: [id, false] }',
    ],
  ]),
  ...mutantsOf('delivery/deletions/accounts', deletionTests, [
    ['an account that is being deleted stays enabled', 'user?.disabled === false', 'false'],
    [
      'a failed deletion stops the others',
      'if (error instanceof LeaseLost || isTemporary(error)) throw error',
      'throw error',
    ],
  ]),
  ...mutantsOf('engine/store/write/pending-deletion', personalDataTests, [
    ['an account that is being deleted can be enabled', 'rows.length > 0', 'false'],
  ]),
  ...mutantsOf('api/rest/actions/answer', personalDataTests, [
    ['an account is erased by who may not delete it', 'if (deletes) await', 'if (false) await'],
  ]),
  ...mutantsOf('server/serve/transports/personal-data', personalDataTests, [
    ['others get what they may read themselves', 'isOwn ? reader : person', 'reader'],
  ]),
]

export const auth: readonly Mutant[] = [...credentials, ...encryption, ...accounts, ...personalData]
