/**
 * The rules that depend on the caller alone. Each kind is one entry of the table below; whatever interprets rules (the guard,
 * row security, the checks of a model, texts and explanations) asks the table.
 */
import { type AccessClass, hasScope, isAnonymous } from '../../base/principal.ts'
import { didYouMean } from '../suggest.ts'

export type CallerRule =
  | { readonly kind: 'anyone' }
  | { readonly kind: 'nobody' }
  | { readonly kind: 'signedIn' }
  /** The caller does not use a third-party app: see `AccessClass.thirdParty`. */
  | { readonly kind: 'firstParty' }
  | { readonly kind: 'role'; readonly roles: readonly string[] }
  | { readonly kind: 'scope'; readonly scope: string }

/** A test of a setting of a transaction on PostgreSQL: see `engine/store/postgres/row-security/security.ts`. */
export type SettingTest = { readonly setting: 'actor' | 'role' | 'scopes' | 'third_party' } & (
  | { readonly is: string }
  | { readonly oneOf: readonly string[] }
  /** The setting is a list of words, separated by spaces. */
  | { readonly hasOneOf: readonly string[] }
)

interface CallerRuleKind<R> {
  /** As in a model file. */
  readonly source: (rule: R) => string
  /** For readers of the OpenAPI document. */
  readonly words: (rule: R) => string
  readonly holds: (rule: R, caller: AccessClass) => boolean
  /**
   * The same for row security: all tests must succeed. `'never'`: no caller. Not made from `holds`, so that a fault of one is
   * not a fault of the other.
   */
  readonly settings: (rule: R) => readonly SettingTest[] | 'never'
  /** Why it holds, or does not. */
  readonly because: (caller: AccessClass) => string
  /** The field of the caller's own item that `because` reveals. */
  readonly reveals?: 'role'
  /** The fault of a declared rule. */
  readonly fault?: (rule: R, scopes: ReadonlyMap<string, string>) => string | undefined
  /** Callers for whom it may hold or not hold, unlike for others who are signed in, or anonymous. */
  readonly callers: (rule: R) => readonly Partial<AccessClass>[]
}

type Kinds = {
  readonly [K in CallerRule['kind']]: CallerRuleKind<Extract<CallerRule, { readonly kind: K }>>
}

const isUser: SettingTest = { setting: 'actor', is: 'user' }

const kinds: Kinds = {
  anyone: {
    source: () => 'anyone',
    words: () => 'anyone',
    holds: () => true,
    settings: () => [],
    because: () => 'the model allows it to everybody',
    callers: () => [],
  },
  nobody: {
    source: () => 'nobody',
    words: () => 'nobody',
    holds: () => false,
    settings: () => 'never',
    because: () => 'the model allows it to nobody',
    callers: () => [],
  },
  signedIn: {
    source: () => 'signedIn',
    words: () => 'anyone signed in',
    holds: (_rule, { signedIn }) => signedIn,
    settings: () => [isUser],
    because: ({ signedIn }) => (signedIn ? 'the caller is signed in' : 'nobody is signed in'),
    callers: () => [],
  },
  firstParty: {
    source: () => 'firstParty',
    words: () => 'not through a third-party app',
    holds: (_rule, { thirdParty }) => !thirdParty,
    settings: () => [{ setting: 'third_party', is: '' }],
    because: ({ thirdParty }) =>
      `the request comes through ${thirdParty ? 'a third-party app' : 'no third-party app'}`,
    callers: () => [{ thirdParty: true }],
  },
  role: {
    source: ({ roles }) => `role(${roles.map(name => `'${name}'`).join(', ')})`,
    words: ({ roles }) => `role ${roles.join(' or ')}`,
    holds: ({ roles }, { role }) => role !== null && roles.includes(role),
    settings: ({ roles }) => [isUser, { setting: 'role', oneOf: roles }],
    because: ({ role }) => (role === null ? 'nobody is signed in' : `the caller's role is ${role}`),
    reveals: 'role',
    fault: ({ roles }) =>
      roles.length > 0 && roles.every(name => typeof name === 'string' && name !== '')
        ? undefined
        : "A role must be named. Write e.g. `role('admin')`.",
    callers: ({ roles }) => roles.map(role => ({ signedIn: true, role })),
  },
  scope: {
    source: ({ scope }) => `scope('${scope}')`,
    words: ({ scope }) => `scope ${scope}`,
    // Anonymous callers have no scope, although no scope limits them.
    holds: ({ scope }, caller) => !isAnonymous(caller) && hasScope(caller.scopes, scope),
    settings: ({ scope }) => [{ setting: 'actor', oneOf: ['user', 'app'] }, scopeSetting(scope)],
    because: ({ scopes }) =>
      `the credential has ${scopes === 'all' ? 'all scopes' : `the scopes ${[...scopes].join(', ') || '(none)'}`}`,
    fault: ({ scope }, scopes) =>
      scopes.has(scope)
        ? undefined
        : `There is no scope \`${scope}\`.${didYouMean(String(scope), scopes.keys())} Scopes are named like \`read:post\`.`,
    callers: ({ scope }) => [{ scopes: new Set() }, { scopes: new Set([scope]) }],
  },
}

/** Like `hasScope` of `principal.ts`: `write:x` covers `read:x`, and `*` covers everything. */
export function scopeSetting(scope: string): SettingTest {
  const covering = scope.startsWith('read:') ? [`write:${scope.slice('read:'.length)}`] : []
  return { setting: 'scopes', hasOneOf: ['*', scope, ...covering] }
}

/** Whether the rule depends on the caller alone. */
export function isCallerRule(rule: { readonly kind: string }): rule is CallerRule {
  return Object.hasOwn(kinds, rule.kind)
}

export function callerRuleKind(rule: CallerRule): CallerRuleKind<CallerRule> {
  return kinds[rule.kind] as CallerRuleKind<CallerRule>
}
