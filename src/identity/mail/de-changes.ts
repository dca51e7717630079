/** German texts about changes of passwords and sign-in methods. */
import type { MailValues, ProtectionChange } from './values.ts'

interface ChangeTexts {
  readonly heading: string
  readonly what: string
  readonly meaning: string
}

/** `provider`: its name, if the change is about one. */
export const changes: Readonly<Record<ProtectionChange, (service: string, provider: string) => ChangeTexts>> =
  {
    'passkey-added': service => ({
      heading: 'Neuer Passkey für Ihr Konto',
      what: `Zu Ihrem Konto bei ${service} wurde ein Passkey hinzugefügt.`,
      meaning: 'Wer ihn hat, kann sich ohne Ihr Passwort anmelden.',
    }),
    'passkey-removed': service => ({
      heading: 'Passkey von Ihrem Konto entfernt',
      what: `Von Ihrem Konto bei ${service} wurde ein Passkey entfernt.`,
      meaning: 'Mit ihm kann sich niemand mehr anmelden.',
    }),
    'password-set': service => ({
      heading: 'Passwort für Ihr Konto festgelegt',
      what: `Für Ihr Konto bei ${service} wurde ein Passwort festgelegt.`,
      meaning: 'Wer es kennt, kann sich anmelden.',
    }),
    'codes-on': service => ({
      heading: 'Einmalcodes für Ihr Konto aktiviert',
      what: `Für Ihr Konto bei ${service} wurden Einmalcodes aktiviert.`,
      meaning: 'Für die Anmeldung mit Passwort ist jetzt zusätzlich ein Code nötig.',
    }),
    'codes-off': service => ({
      heading: 'Einmalcodes für Ihr Konto deaktiviert',
      what: `Für Ihr Konto bei ${service} wurden Einmalcodes deaktiviert.`,
      meaning: 'Zur Anmeldung genügt jetzt das Passwort.',
    }),
    'recovery-codes': service => ({
      heading: 'Neue Wiederherstellungscodes für Ihr Konto',
      what: `Für Ihr Konto bei ${service} wurden neue Wiederherstellungscodes erstellt.`,
      meaning: 'Die bisherigen gelten nicht mehr.',
    }),
    'provider-linked': (service, provider) => ({
      heading: `Anmeldung mit ${provider} hinzugefügt`,
      what: `Zu Ihrem Konto bei ${service} wurde die Anmeldung mit ${provider} hinzugefügt.`,
      meaning: `Wer bei diesem Konto von ${provider} angemeldet ist, kann sich ohne Ihr Passwort bei ${service} anmelden.`,
    }),
    'provider-unlinked': (service, provider) => ({
      heading: `Anmeldung mit ${provider} entfernt`,
      what: `Für Ihr Konto bei ${service} wurde die Anmeldung mit ${provider} entfernt.`,
      meaning: `Mit diesem Konto von ${provider} kann man sich dort nicht mehr anmelden.`,
    }),
  }

export const passwordChanges: Readonly<
  Record<MailValues['passwordChanged']['how'], (service: string) => string>
> = {
  changed: service => `Das Passwort Ihres Kontos bei ${service} wurde geändert.`,
  reset: service =>
    `Das Passwort Ihres Kontos bei ${service} wurde über einen Link neu festgelegt, der an diese Adresse geschickt wurde.`,
  administrator: service =>
    `Ein Administrator hat für Ihr Konto bei ${service} ein neues Passwort festgelegt.`,
}
