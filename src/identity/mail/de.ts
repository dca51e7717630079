/** The mails in German. */
import { type AccessInventory, counted } from '../accounts/recovery/access-inventory.ts'
import type { MailParagraph, OwnTexts } from './content.ts'
import { changes, passwordChanges } from './de-changes.ts'

function inventoryText(
  { sessions, apps, keys, passkeys, identities, codes }: AccessInventory,
  none: string,
): string {
  const texts = [
    ...counted(sessions, 'Sitzung', 'Sitzungen'),
    ...counted(apps, 'verbundene App', 'verbundene Apps'),
    ...counted(keys, 'API-Schlüssel', 'API-Schlüssel'),
    ...counted(passkeys, 'Passkey', 'Passkeys'),
    ...counted(identities, 'Anmeldung über einen anderen Anbieter', 'Anmeldungen über andere Anbieter'),
    ...(codes ? ['Einmalcodes'] : []),
  ]
  return texts.join(', ') || none
}

function notYou(resetLink: string): MailParagraph {
  return { text: 'Wenn Sie das nicht waren, legen Sie sofort ein neues Passwort fest:', link: resetLink }
}

function chooseOwn(resetLink: string): MailParagraph {
  return { text: 'So legen Sie eines fest, das nur Sie kennen:', link: resetLink }
}

function unexpected(service: string): string {
  return `Wenn Sie das nicht erwartet haben, wenden Sie sich an die Betreiber von ${service}.`
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
  return `Der Link ist ${duration} lang gültig und funktioniert nur einmal.`
}

export const de: OwnTexts = {
  layout: {
    linkHint: 'Falls die Schaltfläche nicht funktioniert, öffnen Sie diese Adresse:',
    time: 'Zeitpunkt',
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
    preview: 'Jemand, vermutlich Sie, wollte sich erneut mit dieser Adresse registrieren.',
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
    subject: `Bestätigen Sie Ihre E-Mail-Adresse bei ${service}`,
    preview: expiry(duration(minutes)),
    heading: 'E-Mail-Adresse bestätigen',
    paragraphs: [
      `Öffnen Sie den Link, um zu bestätigen, dass diese E-Mail-Adresse zu Ihrem Konto bei ${service} gehört.`,
    ],
    action: { label: 'E-Mail-Adresse bestätigen', link },
    notes: [
      expiry(duration(minutes)),
      'Wenn Sie dort kein Konto haben, brauchen Sie nichts zu tun: Vermutlich hat sich jemand bei seiner Adresse vertippt.',
    ],
  }),
  newAddress: ({ service, link, minutes, duration }) => ({
    subject: `Bestätigen Sie Ihre neue E-Mail-Adresse bei ${service}`,
    preview: `Bis dahin behält Ihr Konto die bisherige Adresse. ${expiry(duration(minutes))}`,
    heading: 'Neue E-Mail-Adresse bestätigen',
    paragraphs: [
      `Öffnen Sie den Link, um diese E-Mail-Adresse für Ihr Konto bei ${service} zu übernehmen. Dazu brauchen Sie Ihr Passwort.`,
    ],
    action: { label: 'Neue E-Mail-Adresse bestätigen', link },
    notes: [
      `${expiry(duration(minutes))} Bis zur Bestätigung behält Ihr Konto die bisherige Adresse.`,
      'Wenn Sie das nicht veranlasst haben, brauchen Sie nichts zu tun.',
    ],
  }),
  addressTaken: ({ service, signInLink }) => ({
    subject: `Zu dieser E-Mail-Adresse gehört bereits ein Konto bei ${service}`,
    preview: 'Es wurde nichts geändert.',
    heading: 'Zu dieser E-Mail-Adresse gehört bereits ein Konto',
    paragraphs: [
      `Jemand, vermutlich Sie, wollte diese E-Mail-Adresse für ein Konto bei ${service} übernehmen. Zu ihr gehört aber bereits ein anderes Konto, deshalb wurde nichts geändert.`,
    ],
    action: { label: 'Anmelden', link: signInLink },
    notes: ['Wenn Sie das nicht waren, brauchen Sie nichts zu tun.'],
  }),
  resetPassword: ({ service, link, minutes, duration }) => ({
    subject: `Neues Passwort bei ${service} festlegen`,
    preview: expiry(duration(minutes)),
    heading: 'Neues Passwort festlegen',
    paragraphs: [
      `Jemand, vermutlich Sie, hat ein neues Passwort für Ihr Konto bei ${service} angefordert. Öffnen Sie den Link, um es festzulegen.`,
    ],
    action: { label: 'Neues Passwort festlegen', link },
    notes: [
      expiry(duration(minutes)),
      'Wenn Sie das nicht waren, brauchen Sie nichts zu tun: Ihr Passwort bleibt, wie es ist.',
    ],
  }),
  passwordChanged: ({ service, how, ended, left, ownApps, resetLink }) => ({
    subject: `Ihr Passwort bei ${service} wurde geändert`,
    preview:
      how === 'administrator'
        ? 'Ein Administrator hat ein neues festgelegt.'
        : 'Wenn Sie das nicht waren, handeln Sie sofort.',
    heading: 'Ihr Passwort wurde geändert',
    paragraphs: [passwordChanges[how](service)],
    facts: [
      ['Gilt nicht mehr', inventoryText(ended, 'sonst nichts')],
      ['Gilt weiterhin', inventoryText(left, 'nur das neue Passwort')],
      ...(ownApps.length === 0
        ? []
        : [['Ihre eigenen Apps', `${ownApps.join(', ')} (ihre Client-Secrets gelten weiterhin)`] as const]),
    ],
    notes: how === 'administrator' ? [chooseOwn(resetLink), unexpected(service)] : [notYou(resetLink)],
  }),
  protectionChanged: ({ service, change, provider = '', resetLink }) => {
    const { heading, what, meaning } = changes[change](service, provider)
    return {
      subject: `${service}: ${heading}`,
      preview: meaning,
      heading,
      paragraphs: [`${what} ${meaning}`],
      notes: [notYou(resetLink)],
    }
  },
  addressRequested: ({ service, address, accountLink }) => ({
    subject: `Neue E-Mail-Adresse für Ihr Konto bei ${service} angefordert`,
    preview: 'Sie ist noch nicht bestätigt: Bisher hat sich nichts geändert.',
    heading: 'Neue E-Mail-Adresse angefordert',
    paragraphs: [
      `Jemand, vermutlich Sie, möchte die E-Mail-Adresse Ihres Kontos bei ${service} ändern. Die neue Adresse wäre ${address}.`,
      'Die Änderung gilt erst, wenn der Link geöffnet wird, den wir dorthin geschickt haben, und dabei Ihr Passwort eingegeben wird. Bis dahin behält Ihr Konto diese Adresse.',
    ],
    notes: addressNotYou(service, accountLink),
  }),
  addressChanged: ({ service, address, by, accountLink }) => ({
    subject: `Die E-Mail-Adresse Ihres Kontos bei ${service} wurde geändert`,
    preview: 'Wenn Sie das nicht waren, handeln Sie sofort.',
    heading: 'Ihre E-Mail-Adresse wurde geändert',
    paragraphs: [
      by === 'administrator'
        ? `Ein Administrator hat die E-Mail-Adresse Ihres Kontos bei ${service} geändert. Sie lautet jetzt ${address}.`
        : `Ihr Konto bei ${service} hat jetzt die E-Mail-Adresse ${address}.`,
      'Nachrichten zu Ihrem Konto gehen künftig nicht mehr an diese Adresse.',
    ],
    notes: addressNotYou(service, accountLink),
  }),
  keyCreated: ({ service, key, prefix, mayAll, keysLink, resetLink }) => ({
    subject: `Neuer API-Schlüssel für Ihr Konto bei ${service}`,
    preview: 'Wenn Sie das nicht waren, handeln Sie sofort.',
    heading: 'Neuer API-Schlüssel für Ihr Konto',
    paragraphs: [
      `Für Ihr Konto bei ${service} wurde ein API-Schlüssel erstellt. Wer ihn hat, kann die API in Ihrem Namen nutzen${
        mayAll
          ? ' und darf dabei alles, was Sie selbst dürfen.'
          : ', im Rahmen der Berechtigungen des Schlüssels.'
      }`,
    ],
    facts: [
      ['Name', key],
      ['Beginnt mit', prefix],
    ],
    action: { label: 'Schlüssel ansehen', link: keysLink },
    notes: [
      {
        text: 'Wenn Sie das nicht waren, widerrufen Sie ihn dort und legen Sie ein neues Passwort fest:',
        link: resetLink,
      },
    ],
  }),
  secretCreated: ({ service, app, prefix, appLink, resetLink }) => ({
    subject: `Neues Client-Secret für Ihre App bei ${service}`,
    preview: 'Wenn Sie das nicht waren, handeln Sie sofort.',
    heading: 'Neues Client-Secret für Ihre App',
    paragraphs: [
      `Für Ihre App ${app} bei ${service} wurde ein neues Client-Secret erstellt. Wer es hat, kann sich als diese App ausgeben. Frühere Secrets laufen bald ab.`,
    ],
    facts: [['Beginnt mit', prefix]],
    action: { label: 'App ansehen', link: appLink },
    notes: [
      {
        text: 'Wenn Sie das nicht waren, widerrufen Sie es dort und legen Sie ein neues Passwort fest:',
        link: resetLink,
      },
    ],
  }),
  appConnected: ({ service, app, appsLink, resetLink }) => ({
    subject: `Eine App hat Zugriff auf Ihr Konto bei ${service}`,
    preview: 'Wenn Sie das nicht waren, handeln Sie sofort.',
    heading: 'Eine App hat Zugriff auf Ihr Konto',
    paragraphs: [
      `Eine App hat Zugriff auf Ihr Konto bei ${service} erhalten. Sie kann in Ihrem Namen handeln.`,
    ],
    facts: [['App', app]],
    action: { label: 'Berechtigungen ansehen', link: appsLink },
    notes: [
      {
        text: 'Wenn Sie das nicht waren, trennen Sie die App dort und legen Sie ein neues Passwort fest:',
        link: resetLink,
      },
    ],
  }),
  accountDisabled: ({ service }) => ({
    subject: `Ihr Konto bei ${service} ist gesperrt`,
    preview: 'Ein Administrator hat es gesperrt.',
    heading: 'Ihr Konto ist gesperrt',
    paragraphs: [
      `Ein Administrator hat Ihr Konto bei ${service} gesperrt.`,
      'Sie sind überall abgemeldet, und Ihre Apps und API-Schlüssel funktionieren nicht mehr. Gelöscht wurde nichts.',
    ],
    notes: [unexpected(service)],
  }),
  accountDeleted: ({ service, by }) => ({
    subject: `Ihr Konto bei ${service} wurde gelöscht`,
    preview: 'Auch seine Sitzungen, API-Schlüssel und Apps.',
    heading: 'Ihr Konto wurde gelöscht',
    paragraphs: [
      by === 'administrator'
        ? `Ein Administrator hat Ihr Konto bei ${service} gelöscht.`
        : `Ihr Konto bei ${service} wurde auf Ihren Wunsch gelöscht.`,
      'Seine Sitzungen, API-Schlüssel und Apps gibt es nicht mehr. Dies ist die letzte Nachricht dazu.',
    ],
    notes: [unexpected(service)],
  }),
  webhookPaused: ({ service, webhook, host, reason, webhookLink, enableLink }) => ({
    subject: `Ein Webhook bei ${service} wurde angehalten`,
    preview: 'Es geht kein Ereignis verloren: Er setzt später dort fort, wo er angehalten wurde.',
    heading: 'Ein Webhook wurde angehalten',
    paragraphs: [
      `Ihr Webhook ${webhook} bei ${service}, der an ${host} sendet, wurde angehalten: ${
        reason === 'gone'
          ? 'Der Empfänger hat eine Zustellung mit 410 Gone beantwortet'
          : 'Seit 24 Stunden ist keine Zustellung gelungen'
      }.`,
      'Sobald Sie ihn wieder aktivieren, setzt er bei dem Ereignis fort, bei dem er angehalten wurde.',
    ],
    action: { label: 'Webhook ansehen', link: webhookLink },
    notes: [
      {
        text: 'Programme aktivieren ihn mit einer POST-Anfrage an:',
        link: enableLink,
      },
    ],
  }),
}
