/** The mails that Portico sends, and what the text of each is made of. */
import type { Holdings } from '../accounts/recovery/holdings.ts'

/** A link that works once, for `minutes`. */
export interface LinkValues {
  readonly link: string
  readonly minutes: number
}

/** What a user may change about the ways to sign in. */
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
  /** To an address that signed up: its account is created by the link. */
  readonly finishSignUp: LinkValues
  /** To an address that signed up and has an account. */
  readonly knownAddress: { readonly signInLink: string; readonly resetLink: string }
  /** To the address of a new account, or where its owner asks again. */
  readonly confirmAddress: LinkValues
  /** To the address that an account is to get. */
  readonly newAddress: LinkValues
  /** To an address that an account is to get, and another one has. */
  readonly addressTaken: { readonly signInLink: string }
  readonly resetPassword: LinkValues
  readonly passwordChanged: {
    /** `reset`: by a link that was sent to the address; `administrator`: one has set it. */
    readonly how: 'changed' | 'reset' | 'administrator'
    /** The number of each that no longer works. */
    readonly ended: Holdings
    /** The number of each that still works. */
    readonly left: Holdings
    /** The names of the user's own apps, which keep their secrets. */
    readonly ownApps: readonly string[]
    readonly resetLink: string
  }
  readonly protectionChanged: {
    readonly change: ProtectionChange
    /** By which people sign in, e.g. `Google`; where `change` is about one. */
    readonly provider?: string | undefined
    readonly resetLink: string
  }
  /** To the present address: another one was asked for. */
  readonly addressRequested: { readonly address: string; readonly accountLink: string }
  /** To the previous address. */
  readonly addressChanged: {
    readonly address: string
    readonly by: 'owner' | 'administrator'
    readonly accountLink: string
  }
  /** The user, or whoever is at the account, has made an API key. */
  readonly keyCreated: {
    /** Its name. */
    readonly key: string
    /** How it begins. */
    readonly prefix: string
    /** Whether it may do all that the user may. */
    readonly mayAll: boolean
    readonly keysLink: string
    readonly resetLink: string
  }
  /** A secret was added to an app of the user’s. */
  readonly secretCreated: {
    /** The name of the app. */
    readonly app: string
    /** How the secret begins. */
    readonly prefix: string
    readonly appLink: string
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
    /** To be sent a POST request. */
    readonly enableLink: string
  }
}

export type MailName = keyof MailValues

/** The request that a mail answers, as far as it is known. */
export interface MailRequest {
  /** Milliseconds since 1970. */
  readonly at: number
  /** Of the client. */
  readonly address?: string | undefined
  /** E.g. `Firefox, Linux`. */
  readonly device?: string | undefined
}

export interface CommonValues {
  /** The name of the service. */
  readonly service: string
  readonly request: MailRequest | undefined
  /** In words of the mail's language, e.g. `24 hours`. */
  duration(minutes: number): string
}

/** What the text of a mail is made of. What a user chose is one line, is bounded, and does not become a link. */
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
