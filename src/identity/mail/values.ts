/** The mails that Portico sends, and the values of their templates. */
import type { EpochMs } from '../../base/epoch-ms.ts'
import type { AccessInventory } from '../accounts/recovery/access-inventory.ts'

/** A link that works once, for `minutes`. */
export interface LinkValues {
  readonly link: string
  readonly minutes: number
}

/** The changes of the sign-in methods. */
export type ProtectionChange =
  | 'passkey-added'
  | 'passkey-removed'
  | 'password-set'
  | 'codes-on'
  | 'codes-off'
  | 'recovery-codes'
  | 'provider-linked'
  | 'provider-unlinked'

export interface MailValues {
  /** To an address that was used for a sign-up: the link creates the account. */
  readonly finishSignUp: LinkValues
  /** To an address that was used for a sign-up, but already has an account. */
  readonly knownAddress: { readonly signInLink: string; readonly resetLink: string }
  /** To the address of a new account, and whenever its owner asks for another link. */
  readonly confirmAddress: LinkValues
  /** To an address that was requested for an account. */
  readonly newAddress: LinkValues
  /** To an address that was requested for an account, but belongs to another one. */
  readonly addressTaken: { readonly signInLink: string }
  readonly resetPassword: LinkValues
  readonly passwordChanged: {
    /** `reset`: by a link that was sent to the address; `administrator`: by an administrator. */
    readonly how: 'changed' | 'reset' | 'administrator'
    /** The number of each that no longer works. */
    readonly ended: AccessInventory
    /** The number of each that still works. */
    readonly left: AccessInventory
    /** The names of the user's own apps, which keep their secrets. */
    readonly ownApps: readonly string[]
    readonly resetLink: string
  }
  readonly protectionChanged: {
    readonly change: ProtectionChange
    /** The name of the provider, e.g. `Google`, if `change` is about one. */
    readonly provider?: string | undefined
    readonly resetLink: string
  }
  /** To the present address, when another one was requested. */
  readonly addressRequested: { readonly address: string; readonly accountLink: string }
  /** To the previous address. */
  readonly addressChanged: {
    readonly address: string
    readonly by: 'owner' | 'administrator'
    readonly accountLink: string
  }
  /** An API key was created by the user, or by an attacker. */
  readonly keyCreated: {
    /** Its name. */
    readonly key: string
    /** Its first characters. */
    readonly prefix: string
    /** Whether it may do everything that the user may do. */
    readonly mayAll: boolean
    readonly keysLink: string
    readonly resetLink: string
  }
  /** A secret was added to one of the user's apps. */
  readonly secretCreated: {
    /** The name of the app. */
    readonly app: string
    /** The first characters of the secret. */
    readonly prefix: string
    readonly appLink: string
    readonly resetLink: string
  }
  /** The user, or an attacker, has connected an app, or has given a connected one lasting or account-changing rights. */
  readonly appConnected: {
    /** The name of the app. */
    readonly app: string
    readonly appsLink: string
    readonly resetLink: string
  }
  /** An administrator has disabled the account. */
  readonly accountDisabled: Readonly<Record<never, never>>
  readonly accountDeleted: { readonly by: 'owner' | 'administrator' }
  readonly webhookPaused: {
    readonly webhook: number
    readonly host: string
    /** `gone`: a delivery was answered with 410; `failing`: none has succeeded for 24 hours. */
    readonly reason: 'gone' | 'failing'
    /** Its page, which shows the deliveries and has a button that enables it. */
    readonly webhookLink: string
    /** Accepts a POST request. */
    readonly enableLink: string
  }
}

export type MailName = keyof MailValues

/** The request that has caused a mail, if known. */
export interface MailRequest {
  readonly at: EpochMs
  /** The client's IP address. */
  readonly address?: string | undefined
  /** E.g. `Firefox, Linux`. */
  readonly device?: string | undefined
}

export interface CommonValues {
  /** The name of the service. */
  readonly service: string
  readonly request: MailRequest | undefined
  /** A duration in the mail's language, e.g. `24 hours`. */
  duration(minutes: number): string
}

/** The values of a template. Texts of users are bounded, have one line, and do not become links. */
export type TemplateValues<Name extends MailName> = MailValues[Name] & CommonValues

const link = (path: string) => `https://example.com/account/${path}`
const token = 'c2FtcGxlLXRva2VuLW9mLTQzLWNoYXJhY3RlcnMtaGVyZQ'

/** For previews and for checks of a project's own templates. */
export const sampleValues: { readonly [Name in MailName]: MailValues[Name] } = {
  finishSignUp: { link: link(`verify?account=${token}`), minutes: 1440 },
  knownAddress: { signInLink: link('sign-in'), resetLink: link('reset') },
  confirmAddress: { link: link(`verify?token=${token}`), minutes: 1440 },
  newAddress: { link: link(`verify?token=${token}`), minutes: 1440 },
  addressTaken: { signInLink: link('sign-in') },
  resetPassword: { link: link(`reset?token=${token}`), minutes: 60 },
  passwordChanged: {
    how: 'changed',
    ended: { sessions: 2, apps: 1, keys: 3, passkeys: 0, identities: 0, codes: false },
    left: { sessions: 1, apps: 0, keys: 0, passkeys: 1, identities: 0, codes: true },
    ownApps: ['Reading List'],
    resetLink: link('reset'),
  },
  protectionChanged: { change: 'passkey-added', resetLink: link('reset') },
  addressRequested: { address: 'ada.new@example.com', accountLink: link('').slice(0, -1) },
  addressChanged: { address: 'ada.new@example.com', by: 'owner', accountLink: link('').slice(0, -1) },
  keyCreated: {
    key: 'Nightly backup',
    prefix: 'pk_4fT9bQz',
    mayAll: false,
    keysLink: link('keys'),
    resetLink: link('reset'),
  },
  secretCreated: {
    app: 'Reading List',
    prefix: 'ps_n2Yw8Lk',
    appLink: link('developer/3'),
    resetLink: link('reset'),
  },
  appConnected: { app: 'Reading List', appsLink: link('apps'), resetLink: link('reset') },
  accountDisabled: {},
  accountDeleted: { by: 'owner' },
  webhookPaused: {
    webhook: 7,
    host: 'hooks.example.com',
    reason: 'failing',
    webhookLink: link('webhooks/7'),
    enableLink: 'https://example.com/api/v1/webhooks/7/enable',
  },
}

export const mailNames = Object.keys(sampleValues) as readonly MailName[]
