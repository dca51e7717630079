/** Credentials, accounts, and what keeps secrets unreadable in the database. */
import { type Mutant, mutantsOf } from './mutant.ts'

const credentials: readonly Mutant[] = [
  ...mutantsOf(
    'auth/access-token',
    ['auth/access-token'],
    [
      [
        'a token that is remembered by its text does not end',
        'sent !== undefined && sent.expiresAt > this.#now()',
        'sent !== undefined',
      ],
      [
        'a token that is remembered by its hash does not end',
        'known !== undefined && known.expiresAt > this.#now()',
        'known !== undefined',
      ],
      ['a deleted grant is not noticed', "      records.version('Grant') +\n", ''],
      [
        'a deleted token of an app alone is not noticed',
        "      records.version('ClientCredentials') +\n",
        '',
      ],
      ['a change of an app is not noticed', "      version('oauth_apps') +\n", ''],
      ['a change of a user is not noticed', "      version('users') +\n", ''],
      [
        'a checked JWT outlives its key',
        'if (checked?.keys === keysVersion(this.#options.records))',
        'if (checked !== undefined)',
      ],
      [
        'a JWT that outlives its denial is believed',
        'if (exp - iat > this.#options.life || (isOfUser',
        'if ((isOfUser',
      ],
      [
        'a JWT without a grant is believed',
        'if (exp - iat > this.#options.life || (isOfUser && grant === undefined))',
        'if (exp - iat > this.#options.life)',
      ],
      ['a JWT ends in 1970', 'expiresAt: exp * 1000', 'expiresAt: exp'],
      [
        'seconds for milliseconds in how long a grant may go on',
        '(refreshLife - life) * 1000',
        '(refreshLife - life)',
      ],
      [
        'a role that changed during its look-up is remembered',
        'if (user) this.#roles.set(id, user.role, 1, at)',
        "if (user) this.#roles.set(id, user.role, 1, version('users'))",
      ],
      [
        'a denied grant is not looked at',
        'denied.has(jti) || (grant !== undefined && denied.has(grant))',
        'denied.has(jti)',
      ],
      [
        'a token that is bound to a key is taken without proof',
        'if (accepted.jkt === undefined) return accepted.principal',
        'return accepted.principal',
      ],
      [
        'a token that is bound to no key is taken with a proof of any',
        "      if (jkt === undefined) {\n        throw dpopRefusal('invalid_token', 'The token is bound to no key', 'Send it as `Bearer …`.')\n      }\n      return source.proven ?",
        '      return source.proven || jkt === undefined ?',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/api-key',
    ['auth/api-key'],
    [
      ['a change of users is not noticed', "version('api_keys') + version('users')", "version('api_keys')"],
      ['a change of keys is not noticed', "version('api_keys') + version('users')", "version('users')"],
      [
        'the version is taken after the look-up',
        'unexpired(remember(hash, row, stamp))',
        'unexpired(remember(hash, row, currentStamp()))',
      ],
      ['a key lasts for one millisecond more', 'owner.expiresAt <= at', 'owner.expiresAt < at'],
      [
        'what a key makes outlives it',
        'allowedScopes(scopes), undefined, expiresAt, through',
        'allowedScopes(scopes), undefined, undefined, through',
      ],
      [
        'a key from the settings is any text of its length',
        "if (place === 'bearer' && !text.startsWith('pk_') && hash !== adminHash) return undefined",
        "if (place === 'bearer' && text.startsWith('pk_') && hash !== adminHash) return undefined",
      ],
    ],
  ),
  ...mutantsOf(
    'auth/key-bounds',
    ['auth/key-bounds'],
    [
      [
        'the nearer of two ends bounds a change',
        'Math.max(endOf(key.expires_at), principal.expiresAt)',
        'Math.min(endOf(key.expires_at), principal.expiresAt)',
      ],
      [
        'a replacement without an end keeps the old one',
        "const keeps = shape.kind === 'update' && shape.mode === 'merge'",
        "const keeps = shape.kind === 'update'",
      ],
      ['an end that is inherited is taken for none', '[...shape.set, ...computed].find', 'shape.set.find'],
      [
        'a key of another is looked at',
        'if (key?.user_id !== principal.userId) return Number.POSITIVE_INFINITY',
        'if (key === undefined) return Number.POSITIVE_INFINITY',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/new-key',
    ['auth/api-key', 'auth/api-keys'],
    [
      [
        'a key inherits scopes that only apps can have',
        '[...scopes].filter(scope => !openidScopes.has(scope)).sort()',
        '[...scopes].sort()',
      ],
      [
        'a key does not inherit its maker’s end',
        'Number.isFinite(expiresAt) && {',
        'Number.isNaN(expiresAt) && {',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/credentials',
    ['auth/credentials'],
    [
      ['of two different credentials one is taken', 'if (texts.size > 1)', 'if (texts.size > 2)'],
      [
        'a key in the query stays there where its name is escaped',
        "if (decoded(name) !== 'api_key') return true",
        "if (name !== 'api_key') return true",
      ],
      [
        'only the first key is taken off the query',
        "    keys.push(mark === -1 ? '' : (decoded(part.slice(mark + 1)) ?? ''))\n    return false",
        "    keys.push(mark === -1 ? '' : (decoded(part.slice(mark + 1)) ?? ''))\n    return keys.length > 1",
      ],
    ],
  ),
  ...mutantsOf(
    'auth/authenticate',
    ['auth/api-key'],
    [
      [
        'what no reader knows is nobody',
        '    return accepted(null)\n',
        '    return anonymous(budgetAddress)\n',
      ],
      [
        'a reader that refuses lets the next one try',
        'if (read !== undefined) return then(read, accepted)',
        'if (read) return then(read, accepted)',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/password',
    ['auth/password'],
    [
      [
        'one more is computed at once than may',
        'if (running >= maxParallelHashes) {',
        'if (running > maxParallelHashes) {',
      ],
      ['a turn that is passed on is given back too', '    else running--\n', '    running--\n'],
    ],
  ),
  ...mutantsOf(
    'auth/dpop',
    ['auth/dpop'],
    [
      [
        'a proof from the future is taken',
        'Math.abs(this.#options.now() - iat * 1000) > windowMs',
        'this.#options.now() - iat * 1000 > windowMs',
      ],
      [
        'seconds for milliseconds in how long a proof is remembered',
        'iat * 1000 + windowMs + 1000',
        'iat + windowMs + 1000',
      ],
      [
        'a proof for another token is taken',
        "if (ath !== hash('sha256', token, 'base64url')) {",
        'if (ath === undefined) {',
      ],
      ['a proof for another method is taken', 'if (htm !== method) throw', 'if (htm === undefined) throw'],
      [
        'one key’s proof uses up another’s of the same id',
        'JSON.stringify([thumbprint, jti])',
        'JSON.stringify([jti])',
      ],
      [
        'whether a proof is new is not awaited',
        'const isNew = await this.#options.records.add',
        'const isNew = this.#options.records.add',
      ],
      [
        'a private key in the header is taken',
        'if (privateMembers.some(name => name in jwk)) throw',
        'if (privateMembers.every(name => name in jwk)) throw',
      ],
      [
        'a key that another token is bound to is taken',
        'if ((await thumbprintOf(jwk)) !== thumbprint) {',
        'if ((await thumbprintOf(jwk)) === undefined) {',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/trusted-issuer',
    ['auth/trusted-issuer'],
    [
      [
        'keys are kept for ever',
        'this.#known !== undefined && now - this.#known.at <= keysKeptMs',
        'this.#known !== undefined',
      ],
      [
        'every unknown key makes keys be fetched',
        'this.#fetching === undefined && now - this.#triedAt > this.#pause()',
        'this.#fetching === undefined',
      ],
      [
        'a token is remembered until it ends, whatever its issuer takes back',
        'Math.min(end, now() + keysKeptMs)',
        'end',
      ],
      [
        'an address counts unless the issuer denies it',
        'isVerified === true ? emailFrom',
        'isVerified !== false ? emailFrom',
      ],
      ['a token outlives its end', 'entry && entry.expiresAt > now()', 'entry'],
      ['the version is taken after the look-up', '}, 1, at)', "}, 1, version('users'))"],
      ['seconds for milliseconds in the end of a token', 'Number(claims.exp) * 1000', 'Number(claims.exp)'],
      ['scopes that nobody knows here are taken', 'named.filter(one => known.has(one))', 'named'],
      ['the audience is not checked', '      audience: issuer.audience,\n', ''],
      ['tokens need not end', "requiredClaims: ['exp', 'sub']", "requiredClaims: ['sub']"],
    ],
  ),
]

const encryption: readonly Mutant[] = [
  ...mutantsOf(
    'auth/encryption/record-cipher',
    ['auth/encryption/record-cipher', 'auth/encryption/open-records'],
    [
      [
        'an encrypted value opens in any record',
        'decipher.setAAD(Buffer.from(name))',
        "decipher.setAAD(Buffer.from(''))",
      ],
      [
        'only the newest key opens',
        'this.#source.keys().find(one => one.id === id)',
        'this.#source.keys().slice(0, 1).find(one => one.id === id)',
      ],
      [
        'older keys’ pseudonyms are not looked for',
        '[made(newest), ...older.map(made)]',
        '[made(newest), ...older.slice(1).map(made)]',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/encryption/encrypted-records',
    ['auth/encryption/record-cipher', 'auth/encryption/open-records', 'auth/encryption/plain-records'],
    [
      [
        'the code that a device shows stays readable',
        'const hidden = alias !== undefined && hiddenAliases.has(kind)',
        'const hidden = alias !== undefined && hiddenAliases.has(alias)',
      ],
      [
        'what is swapped in is not encrypted',
        'this.#inner.swap(key, stored.payload, this.#cipher.encrypt(name, after))',
        'this.#inner.swap(key, stored.payload, after)',
      ],
      [
        'what changed meanwhile is swapped',
        '!stored || this.#cipher.decrypt(name, stored.payload) !== before',
        '!stored',
      ],
      ['the secrets of one-time codes are not encrypted', "  'Totp',\n", ''],
    ],
  ),
  ...mutantsOf(
    'auth/encryption/open-records',
    ['auth/encryption/open-records', 'auth/encryption/plain-records'],
    [
      ['records beyond the first batch stay plain', "    id = batch.at(-1)?.id ?? ''\n", '    return\n'],
      [
        'a wrong key is noticed only when something is opened',
        "  requireRight(recordCipher, proven?.payload ?? '')\n",
        '',
      ],
      [
        'the older key is forgotten before everything is encrypted again',
        '    await reencryptAll(records, cipherOf(known))\n',
        '',
      ],
      ['nobody waits until running services have noticed the new key', '    await wait()\n', ''],
    ],
  ),
]

const accounts: readonly Mutant[] = [
  ...mutantsOf(
    'auth/accounts/sign-in/throttle',
    ['auth/accounts/throttle'],
    [
      [
        'what is refused for one reason is taken for the others',
        '    for (const { key, window, budget } of drawn) if (budget.granted) counters.give(key, 1, window)\n',
        '',
      ],
      [
        'success forgives itself only',
        'counters.give(pair.key, pair.attempts, pair.window)',
        'counters.give(pair.key, 1, pair.window)',
      ],
      [
        'an account’s attempts from all addresses are one pair',
        '${name}:pair:${hashed}:${address}',
        '${name}:pair:${hashed}',
      ],
      ['the wait is told in milliseconds', 'Math.ceil(end - now / 1000)', 'Math.ceil(end - now)'],
      ['budgets that are there at once are shared', 'await budget : { ...budget }', 'await budget : budget'],
    ],
  ),
  ...mutantsOf(
    'auth/accounts/link-tokens',
    ['auth/accounts/reset', 'auth/accounts/sign-up', 'auth/accounts/sign-in'],
    [
      [
        'a used link still opens its page',
        'return record && record.consumedAt === null ? record : undefined',
        'return record',
      ],
      [
        'of many at once everybody redeems a link',
        '!(await records.consume(kind, record.id))',
        '!records.consume(kind, record.id)',
      ],
      ['the second step lasts for an hour', 'SecondFactor: 5 * minuteMs', 'SecondFactor: 60 * minuteMs'],
      [
        'a link to a new password lasts for a day',
        'PasswordReset: 60 * minuteMs',
        'PasswordReset: 24 * 60 * minuteMs',
      ],
      [
        'links are stored readable',
        "return hash('sha256', token, 'base64url')",
        "return token.length > 128 ? hash('sha256', token, 'base64url') : token",
      ],
    ],
  ),
  ...mutantsOf(
    'auth/accounts/sign-in/one-time-codes',
    ['auth/accounts/one-time-codes', 'auth/accounts/sign-in'],
    [
      ['a code of one user uses up another’s', 'id: `${userId}:${counter}`', 'id: `${counter}`'],
      [
        'seconds for milliseconds in how long a used code is remembered',
        '(2 * clockPeriods + 2) * periodSeconds * 1000',
        '(2 * clockPeriods + 2) * periodSeconds',
      ],
      [
        'codes that are on can be confirmed again, for new recovery codes',
        'if (!stored || stored.confirmed) return undefined',
        'if (!stored) return undefined',
      ],
      [
        'a recovery code works for ever',
        'return found[0] !== undefined && records.consume(recoveryKind, found[0].id)',
        'return found[0] !== undefined',
      ],
      [
        'old recovery codes work beside new ones',
        '  await records.deleteOwned(String(userId), [recoveryKind])\n',
        '',
      ],
      [
        'recovery codes work before codes are on',
        'if (!stored?.confirmed) return false',
        'if (!stored) return false',
      ],
      ['a code fits five minutes later', 'const clockPeriods = 1', 'const clockPeriods = 10'],
      [
        'a used code works again',
        'const counter = Math.floor(nowMs / 1000 / periodSeconds) + delta',
        'const counter = Math.floor(nowMs / 1000 / periodSeconds)',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/accounts/sign-in/recovery-codes',
    ['auth/accounts/one-time-codes'],
    [
      [
        'a recovery code must be typed with its dash',
        "code.toLowerCase().replace(/[^a-z0-9]/g, '')",
        'code.toLowerCase()',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/accounts/recovery/reset',
    ['auth/accounts/reset', 'auth/accounts/sign-in', 'auth/accounts/links'],
    [
      [
        'a link outlives a change of the address',
        "if (user?.email !== waiting.email) return { kind: 'over' }",
        "if (!user) return { kind: 'over' }",
      ],
      [
        'a change by the old password overtakes a reset',
        "  if (!(await hasStill(base.run, user))) return { kind: 'over' }\n",
        '',
      ],
      [
        'an address that was only just put there gets a link',
        'if (!user || !(await addresses.isTrusted(user.id, user.email))) return',
        'if (!user) return',
      ],
      [
        'one-time codes that a stranger has turned on long ago stay after the reset',
        '(await addresses.isUnproven(user.id)) || (await',
        '(await',
      ],
      [
        'whoever can only read mail gets past one-time codes by a reset',
        'isYoungerThan(user.id, suspectCodesAgeMs)',
        'isOn(user.id)',
      ],
      ['the session that asks is ended too', 'const extent = { except, keys,', 'const extent = { keys,'],
      [
        'the link is used up before the password is hashed',
        "  const hashed = await hashPassword(password)\n  const pending = await tokens.redeem<Pending>('PasswordReset', token)\n",
        "  const pending = await tokens.redeem<Pending>('PasswordReset', token)\n  const hashed = await hashPassword(password)\n",
      ],
    ],
  ),
  ...mutantsOf(
    'auth/accounts/recovery/account-recovery',
    ['auth/accounts/account-recovery', 'auth/accounts/reset'],
    [
      [
        'a second step that is under way outlives a reset',
        "  'SecondFactor',\n  'AddressVerification',",
        "  'AddressVerification',",
      ],
      [
        'a browser that somebody else made known stays known after a reset',
        "  'KnownDevice',\n  'PasswordReset',",
        "  'PasswordReset',",
      ],
      ['a sign-in that is under way outlives a reset', "      yield { kind: 'put', record: end }\n", ''],
      [
        'keys that were made during a reset stay',
        '  if (extent.keys) await removeKeysAndWebhooks(run, userId)\n',
        '',
      ],
      [
        'to confirm an address leaves what was made in other sessions',
        '.session === session) continue',
        '.session !== undefined) continue',
      ],
      [
        'recovery codes stay when their one-time codes end',
        "      if (kind === 'Totp') await records.deleteOwned(owner, codeKinds)\n",
        '',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/accounts/sign-in/known-devices',
    ['auth/accounts/lock-out#device|secret'],
    [
      [
        'a device that one account knows is known to all',
        '(await stored(secrets)).find(({ owner }) => owner === String(userId))',
        '(await stored(secrets))[0]',
      ],
      ['the newest devices are forgotten first', 'age(other) - age(one)', 'age(one) - age(other)'],
      [
        'a secret that somebody else put into the browser is made known',
        'const secret = randomBytes(secretBytes)',
        'const secret = secrets[0] ?? randomBytes(secretBytes)',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/accounts/addresses',
    ['auth/accounts/addresses', 'auth/accounts/reset', 'auth/accounts/sign-up'],
    [
      [
        'a confirmed address stays confirmed when it changes',
        'stored?.verified === true && stored.email === email',
        'stored?.verified === true',
      ],
      [
        'an account that was signed up for stays unproven',
        'stored?.signedUp === true && !stored.verified',
        'stored?.signedUp === true',
      ],
    ],
  ),
  ...mutantsOf(
    'auth/accounts/sign-in',
    ['auth/accounts/sign-in'],
    [
      [
        'a password that was changed meanwhile signs in',
        '!isRight || !(await hasStill(run, user))) return wrong\n  attempts.succeed(account',
        '!isRight) return wrong\n  attempts.succeed(account',
      ],
      [
        'one second step signs in twice',
        "  if (!(await tokens.redeem('SecondFactor', token))) return { kind: 'over' }\n",
        '',
      ],
      [
        'guessing codes is not counted',
        '  const key = `code:${user.id}`\n',
        '  const key = `code:${token}`\n',
      ],
      [
        'confirming a password is not counted',
        '  const key = `confirm:${userId}`\n',
        '  const key = `confirm:${userId}:${password}`\n',
      ],
      [
        'who has one-time codes signs in without',
        'if (await codes.isOn(user.id)) {',
        'if (!codes.isOn(user.id)) {',
      ],
    ],
  ),
]

export const auth: readonly Mutant[] = [...credentials, ...encryption, ...accounts]
