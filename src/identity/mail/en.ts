/** The mails in English. */
import { type AccessInventory, listOf } from '../accounts/recovery/access-inventory.ts'
import type { MailParagraph, OwnTexts } from './content.ts'
import type { MailValues, ProtectionChange } from './values.ts'

/** E.g. `2 sessions, 1 API key`. */
function inventoryText(counts: AccessInventory, none: string): string {
  return listOf(counts).join(', ') || none
}

/** `provider`: its name, if the change is about one. */
type ChangeTextsOf = (provider: string) => readonly [what: string, meaning: string]

const changes: Readonly<Record<ProtectionChange, ChangeTextsOf>> = {
  'passkey-added': () => [
    'A passkey was added to your account',
    'Anyone who has it can sign in without your password.',
  ],
  'passkey-removed': () => [
    'A passkey was removed from your account',
    'It can no longer be used to sign in.',
  ],
  'password-set': () => ['A password was set for your account', 'Anyone who knows it can sign in.'],
  'codes-on': () => [
    'One-time codes were turned on for your account',
    'Signing in by password now also needs a code.',
  ],
  'codes-off': () => [
    'One-time codes were turned off for your account',
    'The password is now enough to sign in.',
  ],
  'recovery-codes': () => [
    'New recovery codes were created for your account',
    'The earlier ones no longer work.',
  ],
  'provider-linked': provider => [
    `Sign-in with ${provider} was added to your account`,
    `Anyone signed in to that ${provider} account can sign in without your password.`,
  ],
  'provider-unlinked': provider => [
    `Sign-in with ${provider} was removed from your account`,
    `That ${provider} account can no longer be used to sign in.`,
  ],
}

const passwordChanges: Readonly<Record<MailValues['passwordChanged']['how'], (service: string) => string>> = {
  changed: service => `The password of your account at ${service} was changed.`,
  reset: service =>
    `The password of your account at ${service} was reset with a link that was sent to this address.`,
  administrator: service => `An administrator has set a new password for your account at ${service}.`,
}

function notYou(resetLink: string): MailParagraph {
  return { text: 'If it was not you, set a new password now:', link: resetLink }
}

function chooseOwn(resetLink: string): MailParagraph {
  return { text: 'To choose a password that only you know:', link: resetLink }
}

function unexpected(service: string): string {
  return `If you did not expect this, contact the operators of ${service}.`
}

function addressNotYou(service: string, accountLink: string): readonly MailParagraph[] {
  return [
    {
      text: 'If it was not you, sign in, change your password and check your connected apps:',
      link: accountLink,
    },
    `If you cannot sign in, contact the operators of ${service}.`,
  ]
}

function expiry(duration: string): string {
  return `The link works once, within ${duration}.`
}

export const en: OwnTexts = {
  layout: {
    linkHint: 'If the button does not work, open this address:',
    time: 'Time',
    device: 'Device',
    address: 'IP address',
    footer: service => `${service} sent this message automatically.`,
  },
  finishSignUp: ({ service, link, minutes, duration }) => ({
    subject: `Finish signing up at ${service}`,
    preview: `Only one step is left. ${expiry(duration(minutes))}`,
    heading: 'Finish signing up',
    paragraphs: [
      `Somebody, probably you, signed up at ${service} with this address. Open the link and enter the password that you chose.`,
    ],
    action: { label: 'Finish signing up', link },
    notes: [
      expiry(duration(minutes)),
      'If it was not you, do nothing: no account is created without the link.',
    ],
  }),
  knownAddress: ({ service, signInLink, resetLink }) => ({
    subject: `You already have an account at ${service}`,
    preview: 'Somebody, probably you, signed up again with this address.',
    heading: 'You already have an account',
    paragraphs: [
      `Somebody, probably you, signed up at ${service} with this address, which already has an account. Sign in instead.`,
    ],
    action: { label: 'Sign in', link: signInLink },
    notes: [
      { text: 'If you have forgotten your password, set a new one:', link: resetLink },
      'If it was not you, do nothing: your account is unchanged.',
    ],
  }),
  confirmAddress: ({ service, link, minutes, duration }) => ({
    subject: `Confirm your address at ${service}`,
    preview: expiry(duration(minutes)),
    heading: 'Confirm your address',
    paragraphs: [`Open the link to confirm that this is the address of your account at ${service}.`],
    action: { label: 'Confirm address', link },
    notes: [
      expiry(duration(minutes)),
      'If you have no account there, do nothing: somebody probably mistyped their address.',
    ],
  }),
  newAddress: ({ service, link, minutes, duration }) => ({
    subject: `Confirm your new address at ${service}`,
    preview: `Until then, your account keeps its old address. ${expiry(duration(minutes))}`,
    heading: 'Confirm your new address',
    paragraphs: [
      `Open the link to make this the address of your account at ${service}. You will need your password.`,
    ],
    action: { label: 'Confirm new address', link },
    notes: [
      `${expiry(duration(minutes))} Until then, your account keeps its old address.`,
      'If you did not ask for this, do nothing.',
    ],
  }),
  addressTaken: ({ service, signInLink }) => ({
    subject: `This address already has an account at ${service}`,
    preview: 'Nothing was changed.',
    heading: 'This address already has an account',
    paragraphs: [
      `Somebody, probably you, wanted to use this address for an account at ${service}. It already belongs to an account, so nothing was changed.`,
    ],
    action: { label: 'Sign in', link: signInLink },
    notes: ['If it was not you, do nothing.'],
  }),
  resetPassword: ({ service, link, minutes, duration }) => ({
    subject: `Set a new password at ${service}`,
    preview: expiry(duration(minutes)),
    heading: 'Set a new password',
    paragraphs: [
      `Somebody, probably you, requested a new password for your account at ${service}. Open the link to choose one.`,
    ],
    action: { label: 'Set a new password', link },
    notes: [expiry(duration(minutes)), 'If it was not you, do nothing: your password stays as it is.'],
  }),
  passwordChanged: ({ service, how, ended, left, ownApps, resetLink }) => ({
    subject: `Your password at ${service} was changed`,
    preview: how === 'administrator' ? 'An administrator has set a new one.' : 'If it was not you, act now.',
    heading: 'Your password was changed',
    paragraphs: [passwordChanges[how](service)],
    facts: [
      ['No longer valid', inventoryText(ended, 'nothing else')],
      ['Still valid', inventoryText(left, 'only the new password')],
      ...(ownApps.length === 0
        ? []
        : [['Your own apps', `${ownApps.join(', ')}, with their secrets`] as const]),
    ],
    notes: how === 'administrator' ? [chooseOwn(resetLink), unexpected(service)] : [notYou(resetLink)],
  }),
  protectionChanged: ({ service, change, provider = '', resetLink }) => {
    const [what, meaning] = changes[change](provider)
    return {
      subject: `${what} at ${service}`,
      preview: meaning,
      heading: what,
      paragraphs: [`${what} at ${service}. ${meaning}`],
      notes: [notYou(resetLink)],
    }
  },
  addressRequested: ({ service, address, accountLink }) => ({
    subject: `A new address for your account at ${service}`,
    preview: 'It was requested, but is not confirmed yet.',
    heading: 'A new address was requested',
    paragraphs: [
      `Somebody, probably you, asked to give your account at ${service} the address ${address}.`,
      'Your account keeps this address until somebody opens the link that we sent there and enters your password.',
    ],
    notes: addressNotYou(service, accountLink),
  }),
  addressChanged: ({ service, address, by, accountLink }) => ({
    subject: `The address of your account at ${service} was changed`,
    preview: 'If it was not you, act now.',
    heading: 'Your address was changed',
    paragraphs: [
      by === 'administrator'
        ? `An administrator has given your account at ${service} the address ${address}.`
        : `Your account at ${service} now has the address ${address}.`,
      'Messages about it are no longer sent here.',
    ],
    notes: addressNotYou(service, accountLink),
  }),
  keyCreated: ({ service, key, prefix, mayAll, keysLink, resetLink }) => ({
    subject: `A new API key for your account at ${service}`,
    preview: 'If it was not you, act now.',
    heading: 'A new API key for your account',
    paragraphs: [
      `An API key was created for your account at ${service}. Anyone who has it can use the API as you${
        mayAll ? ', for everything that you may do.' : ', within its scopes.'
      }`,
    ],
    facts: [
      ['Name', key],
      ['Begins with', prefix],
    ],
    action: { label: 'View your keys', link: keysLink },
    notes: [{ text: 'If it was not you, revoke it there, and set a new password:', link: resetLink }],
  }),
  secretCreated: ({ service, app, prefix, appLink, resetLink }) => ({
    subject: `A new secret for your app at ${service}`,
    preview: 'If it was not you, act now.',
    heading: 'A new secret for your app',
    paragraphs: [
      `A client secret was added to your app ${app} at ${service}. Anyone who has it can act as the app. Earlier secrets expire soon.`,
    ],
    facts: [['Begins with', prefix]],
    action: { label: 'View the app', link: appLink },
    notes: [{ text: 'If it was not you, revoke it there, and set a new password:', link: resetLink }],
  }),
  appConnected: ({ service, app, appsLink, resetLink }) => ({
    subject: `An app has access to your account at ${service}`,
    preview: 'If it was not you, act now.',
    heading: 'An app has access to your account',
    paragraphs: [`An app was given access to your account at ${service}. It can act for you.`],
    facts: [['App', app]],
    action: { label: 'See what it may do', link: appsLink },
    notes: [{ text: 'If it was not you, disconnect it there, and set a new password:', link: resetLink }],
  }),
  accountDisabled: ({ service }) => ({
    subject: `Your account at ${service} is disabled`,
    preview: 'An administrator has disabled it.',
    heading: 'Your account is disabled',
    paragraphs: [
      `An administrator has disabled your account at ${service}.`,
      'You are signed out everywhere, and your apps and API keys no longer work. Nothing was deleted.',
    ],
    notes: [unexpected(service)],
  }),
  accountDeleted: ({ service, by }) => ({
    subject: `Your account at ${service} was deleted`,
    preview: 'Its sessions, API keys and apps were deleted too.',
    heading: 'Your account was deleted',
    paragraphs: [
      by === 'administrator'
        ? `An administrator has deleted your account at ${service}.`
        : `Your account at ${service} was deleted at your request.`,
      'Its sessions, API keys and apps no longer exist. This is the last message about it.',
    ],
    notes: [unexpected(service)],
  }),
  webhookPaused: ({ service, webhook, host, reason, webhookLink, enableLink }) => ({
    subject: `A webhook at ${service} was paused`,
    preview: 'No event is lost: once enabled, it resumes where it stopped.',
    heading: 'A webhook was paused',
    paragraphs: [
      `Your webhook ${webhook} at ${service}, which sends to ${host}, was paused: ${
        reason === 'gone' ? 'it answered a delivery with 410 Gone' : 'no delivery has succeeded for 24 hours'
      }.`,
      'No event is lost: once you enable it, it resumes where it stopped.',
    ],
    action: { label: 'View the webhook', link: webhookLink },
    notes: [{ text: 'Programs can enable it with a POST request to:', link: enableLink }],
  }),
}
