/** The mails in German. */
import type { Holdings } from '../accounts/holdings.ts'
import type { MailParagraph, OwnTexts } from './content.ts'
import type { ProtectionChange } from './values.ts'

function count(number: number, one: string, many: string): string[] {
  return number === 0 ? [] : [`${number} ${number === 1 ? one : many}`]
}

function holdings({ sessions, apps, keys, passkeys, codes }: Holdings, none: string): string {
  const listed = [
    ...count(sessions, 'Sitzung', 'Sitzungen'),
    ...count(apps, 'verbundene App', 'verbundene Apps'),
    ...count(keys, 'API-Schlüssel', 'API-Schlüssel'),
    ...count(passkeys, 'Passkey', 'Passkeys'),
    ...(codes ? ['Einmalcodes'] : []),
  ]
  return listed.length === 0 ? none : listed.join(', ')
}

interface ChangeTexts {
  readonly heading: string
  what(service: string): string
  readonly meaning: string
}

const changes: Readonly<Record<ProtectionChange, ChangeTexts>> = {
  'passkey-added': {
    heading: 'Neuer Passkey für Ihr Konto',
    what: service => `Zu Ihrem Konto bei ${service} wurde ein Passkey hinzugefügt.`,
    meaning: 'Wer ihn hat, kann sich ohne Ihr Passwort anmelden.',
  },
  'codes-on': {
    heading: 'Einmalcodes für Ihr Konto eingeschaltet',
    what: service => `Für Ihr Konto bei ${service} wurden Einmalcodes eingeschaltet.`,
    meaning: 'Die Anmeldung mit Passwort braucht jetzt auch einen Code.',
  },
  'codes-off': {
    heading: 'Einmalcodes für Ihr Konto ausgeschaltet',
    what: service => `Für Ihr Konto bei ${service} wurden Einmalcodes ausgeschaltet.`,
    meaning: 'Zur Anmeldung genügt jetzt das Passwort.',
  },
  'recovery-codes': {
    heading: 'Neue Wiederherstellungscodes für Ihr Konto',
    what: service => `Für Ihr Konto bei ${service} wurden neue Wiederherstellungscodes erstellt.`,
    meaning: 'Die früheren gelten nicht mehr.',
  },
}

function notYou(resetLink: string): MailParagraph {
  return { text: 'Wenn Sie das nicht waren, legen Sie sofort ein neues Passwort fest:', link: resetLink }
}

function addressNotYou(service: string, accountLink: string): readonly MailParagraph[] {
  return [
    {
      text: 'Wenn Sie das nicht waren, melden Sie sich an, ändern Sie Ihr Passwort und prüfen Sie die verbundenen Apps:',
      link: accountLink,
    },
    `Wenn Sie sich nicht anmelden können, wenden Sie sich an die Betreiber von ${service}.`,
  ]
}

function expiry(duration: string): string {
  return `Der Link gilt einmal, innerhalb von ${duration}.`
}

export const de: OwnTexts = {
  layout: {
    linkHint: 'Falls die Schaltfläche nicht funktioniert, öffnen Sie diese Adresse:',
    time: 'Zeit',
    device: 'Gerät',
    address: 'IP-Adresse',
    footer: service => `Diese Nachricht wurde automatisch von ${service} gesendet.`,
  },
  finishSignUp: ({ service, link, minutes, duration }) => ({
    subject: `Schließen Sie Ihre Registrierung bei ${service} ab`,
    preview: `Es fehlt nur noch ein Schritt. ${expiry(duration(minutes))}`,
    heading: 'Registrierung abschließen',
    paragraphs: [
      `Jemand, vermutlich Sie, hat sich mit dieser Adresse bei ${service} registriert. Öffnen Sie den Link und geben Sie das Passwort ein, das Sie gewählt haben.`,
    ],
    action: { label: 'Registrierung abschließen', link },
    notes: [
      expiry(duration(minutes)),
      'Wenn Sie das nicht waren, brauchen Sie nichts zu tun: Ohne den Link entsteht kein Konto.',
    ],
  }),
  knownAddress: ({ service, signInLink, resetLink }) => ({
    subject: `Sie haben bereits ein Konto bei ${service}`,
    preview: 'Jemand, vermutlich Sie, hat sich erneut mit dieser Adresse registriert.',
    heading: 'Sie haben bereits ein Konto',
    paragraphs: [
      `Jemand, vermutlich Sie, wollte sich mit dieser Adresse bei ${service} registrieren. Zu ihr gehört bereits ein Konto: Melden Sie sich einfach an.`,
    ],
    action: { label: 'Anmelden', link: signInLink },
    notes: [
      { text: 'Wenn Sie Ihr Passwort vergessen haben, legen Sie ein neues fest:', link: resetLink },
      'Wenn Sie das nicht waren, brauchen Sie nichts zu tun: Ihr Konto ist unverändert.',
    ],
  }),
  confirmAddress: ({ service, link, minutes, duration }) => ({
    subject: `Bestätigen Sie Ihre Adresse bei ${service}`,
    preview: expiry(duration(minutes)),
    heading: 'Adresse bestätigen',
    paragraphs: [
      `Öffnen Sie den Link, um zu bestätigen, dass diese Adresse zu Ihrem Konto bei ${service} gehört.`,
    ],
    action: { label: 'Adresse bestätigen', link },
    notes: [
      expiry(duration(minutes)),
      'Wenn Sie dort kein Konto haben, brauchen Sie nichts zu tun: Vermutlich hat sich jemand bei seiner Adresse vertippt.',
    ],
  }),
  newAddress: ({ service, link, minutes, duration }) => ({
    subject: `Bestätigen Sie Ihre neue Adresse bei ${service}`,
    preview: `Bis dahin behält Ihr Konto die alte Adresse. ${expiry(duration(minutes))}`,
    heading: 'Neue Adresse bestätigen',
    paragraphs: [
      `Öffnen Sie den Link, damit Ihr Konto bei ${service} diese Adresse bekommt. Sie brauchen dazu Ihr Passwort.`,
    ],
    action: { label: 'Neue Adresse bestätigen', link },
    notes: [
      `${expiry(duration(minutes))} Bis dahin behält Ihr Konto die alte Adresse.`,
      'Wenn Sie nicht darum gebeten haben, brauchen Sie nichts zu tun.',
    ],
  }),
  addressTaken: ({ service, signInLink }) => ({
    subject: `Zu dieser Adresse gehört bereits ein Konto bei ${service}`,
    preview: 'Es wurde nichts geändert.',
    heading: 'Zu dieser Adresse gehört bereits ein Konto',
    paragraphs: [
      `Jemand, vermutlich Sie, wollte einem Konto bei ${service} diese Adresse geben. Sie gehört bereits zu einem Konto, deshalb wurde nichts geändert.`,
    ],
    action: { label: 'Anmelden', link: signInLink },
    notes: ['Wenn Sie das nicht waren, brauchen Sie nichts zu tun.'],
  }),
  resetPassword: ({ service, link, minutes, duration }) => ({
    subject: `Neues Passwort bei ${service} festlegen`,
    preview: expiry(duration(minutes)),
    heading: 'Neues Passwort festlegen',
    paragraphs: [
      `Jemand, vermutlich Sie, hat um ein neues Passwort für Ihr Konto bei ${service} gebeten. Öffnen Sie den Link, um es festzulegen.`,
    ],
    action: { label: 'Neues Passwort festlegen', link },
    notes: [
      expiry(duration(minutes)),
      'Wenn Sie das nicht waren, brauchen Sie nichts zu tun: Ihr Passwort bleibt, wie es ist.',
    ],
  }),
  passwordChanged: ({ service, how, ended, left, ownApps, resetLink }) => ({
    subject: `Ihr Passwort bei ${service} wurde geändert`,
    preview: 'Wenn Sie das nicht waren, handeln Sie sofort.',
    heading: 'Ihr Passwort wurde geändert',
    paragraphs: [
      how === 'reset'
        ? `Das Passwort Ihres Kontos bei ${service} wurde neu festgelegt, über einen Link, der an diese Adresse ging.`
        : `Das Passwort Ihres Kontos bei ${service} wurde geändert.`,
    ],
    facts: [
      ['Gilt nicht mehr', holdings(ended, 'sonst nichts')],
      ['Gilt weiterhin', holdings(left, 'nur das neue Passwort')],
      ...(ownApps.length === 0
        ? []
        : [['Ihre eigenen Apps', `${ownApps.join(', ')}, mit ihren Geheimnissen`] as const]),
    ],
    notes: [notYou(resetLink)],
  }),
  protectionChanged: ({ service, change, resetLink }) => {
    const { heading, what, meaning } = changes[change]
    return {
      subject: `${service}: ${heading}`,
      preview: meaning,
      heading,
      paragraphs: [`${what(service)} ${meaning}`],
      notes: [notYou(resetLink)],
    }
  },
  addressRequested: ({ service, address, accountLink }) => ({
    subject: `Eine neue Adresse für Ihr Konto bei ${service}`,
    preview: 'Sie wurde angefragt und ist noch nicht bestätigt.',
    heading: 'Eine neue Adresse wurde angefragt',
    paragraphs: [
      `Jemand, vermutlich Sie, möchte Ihrem Konto bei ${service} die Adresse ${address} geben.`,
      'Bis ein Link geöffnet wird, der dorthin ging, und Ihr Passwort eingegeben wird, behält Ihr Konto diese Adresse.',
    ],
    notes: addressNotYou(service, accountLink),
  }),
  addressChanged: ({ service, address, by, accountLink }) => ({
    subject: `Die Adresse Ihres Kontos bei ${service} wurde geändert`,
    preview: 'Wenn Sie das nicht waren, handeln Sie sofort.',
    heading: 'Ihre Adresse wurde geändert',
    paragraphs: [
      by === 'administrator'
        ? `Ihr Konto bei ${service} hat von einem Administrator die Adresse ${address} bekommen.`
        : `Ihr Konto bei ${service} hat jetzt die Adresse ${address}.`,
      'Nachrichten zu Ihrem Konto kommen nicht mehr hierher.',
    ],
    notes: addressNotYou(service, accountLink),
  }),
  webhookPaused: ({ service, webhook, host, reason, enableLink }) => ({
    subject: `Ein Webhook bei ${service} wurde angehalten`,
    preview: 'Es geht kein Ereignis verloren: Er behält seine Stelle.',
    heading: 'Ein Webhook wurde angehalten',
    paragraphs: [
      `Ihr Webhook ${webhook} bei ${service}, der an ${host} sendet, wurde angehalten: ${
        reason === 'gone'
          ? 'Er hat eine Zustellung mit 410 Gone beantwortet'
          : 'Seit 24 Stunden ist keine Zustellung gelungen'
      }.`,
      {
        text: 'Er behält seine Stelle in den Ereignissen. Damit er dort fortfährt, senden Sie ein POST an:',
        link: enableLink,
      },
    ],
  }),
}
