/** The texts of pages in German, by the English ones. */
export const de = {
  // The frame, and what many pages share
  'Skip to the content': 'Zum Inhalt springen',
  'Error: {title}': 'Fehler: {title}',
  Main: 'Hauptnavigation',
  Menu: 'Menü',
  Search: 'Suche',
  'Ctrl K': 'Strg K',
  'Search the documentation': 'Dokumentation durchsuchen',
  'Search the reference and the guides': 'Referenz und Leitfäden durchsuchen',
  Results: 'Ergebnisse',
  'Operations, guides and errors.': 'Operationen, Leitfäden und Fehler.',
  'Nothing found.': 'Nichts gefunden.',
  '{count} found.': '{count} gefunden.',
  'The search could not be loaded. Try again.':
    'Die Suche konnte nicht geladen werden. Versuchen Sie es noch einmal.',
  Close: 'Schließen',
  Docs: 'Doku',
  Documentation: 'Dokumentation',
  'REST API': 'REST-API',
  GraphQL: 'GraphQL',
  Guides: 'Leitfäden',
  Account: 'Konto',
  'Sign in': 'Anmelden',
  'Sign out': 'Abmelden',
  'Signed in as {email}': 'Angemeldet als {email}',
  'Start page': 'Startseite',
  Overview: 'Übersicht',
  Profile: 'Profil',
  Security: 'Sicherheit',
  Sessions: 'Sitzungen',
  'Connected apps': 'Verbundene Apps',
  'For developers': 'Für Entwickler',
  'API keys': 'API-Schlüssel',
  'OAuth apps': 'OAuth-Apps',
  Webhooks: 'Webhooks',
  'Your account': 'Ihr Konto',
  'Your sessions': 'Ihre Sitzungen',
  'Your data': 'Ihre Daten',
  'There is a problem': 'Es gibt ein Problem',
  '{label} (optional)': '{label} (optional)',
  '{label} is required.': '{label} fehlt.',
  '{label} is already taken.': '{label} ist bereits vergeben.',
  'Choose…': 'Bitte wählen …',
  None: 'Keine',
  'An address that begins with https:// or http://.': 'Eine Adresse, die mit https:// oder http:// beginnt.',
  'With its time zone, e.g. 2026-01-31T12:00:00Z.': 'Mit Zeitzone, z. B. 2026-01-31T12:00:00Z.',
  Copy: 'Kopieren',
  Copied: 'Kopiert',
  'Copy: {label}': 'Kopieren: {label}',
  Cancel: 'Abbrechen',
  Continue: 'Weiter',
  Save: 'Speichern',
  Back: 'Zurück',
  Edit: 'Bearbeiten',
  Remove: 'Entfernen',
  Revoke: 'Widerrufen',
  Download: 'Herunterladen',
  Details: 'Details',
  Type: 'Typ',
  Name: 'Name',
  Password: 'Passwort',
  'E-mail address': 'E-Mail-Adresse',
  'Your name': 'Ihr Name',
  Website: 'Website',
  'Privacy policy': 'Datenschutzerklärung',
  'Terms of service': 'Nutzungsbedingungen',
  'This cannot be undone.': 'Das lässt sich nicht rückgängig machen.',
  '{one} and {other}': '{one} und {other}',
  'within the last hour': 'innerhalb der letzten Stunde',
  'on {day}': 'am {day}',
  'A browser': 'Ein Browser',
  '{browser} on {system}': '{browser} auf {system}',
  'an Android app': 'Eine Android-App',

  // The banner about an address that is not confirmed
  'Confirm your e-mail address': 'Bestätigen Sie Ihre E-Mail-Adresse',
  'Check your mail': 'Sehen Sie in Ihr Postfach',
  'We have sent a link to {email}. Open it, here or on another device. Not your address? [Correct it](/account/profile).':
    'Wir haben einen Link an {email} geschickt. Öffnen Sie ihn, hier oder auf einem anderen Gerät. Nicht Ihre Adresse? [Korrigieren Sie sie](/account/profile).',
  'Open the link that we send to {email}.': 'Öffnen Sie den Link, den wir an {email} schicken.',
  'Until then apps see the address as unconfirmed, and you cannot use what others have shared with this address.':
    'Bis dahin gilt die Adresse für Apps als unbestätigt, und Sie können nicht nutzen, was andere mit dieser Adresse geteilt haben.',
  'Confirming ends other sessions and older API keys.':
    'Mit der Bestätigung enden andere Sitzungen und ältere API-Schlüssel.',
  'Send the link': 'Link schicken',
  'Send it again': 'Noch einmal schicken',

  // Errors
  Error: 'Fehler',
  Detail: 'Einzelheit',
  Request: 'Anfrage',
  Time: 'Zeit',
  'This is not allowed': 'Das ist nicht erlaubt',
  'There is nothing here': 'Hier ist nichts',
  'The address is wrong, or the page no longer exists.':
    'Die Adresse ist falsch, oder die Seite gibt es nicht mehr.',
  'This page cannot do that': 'Das kann diese Seite nicht',
  'Open it from your account instead.': 'Öffnen Sie sie stattdessen über Ihr Konto.',
  'The request took too long': 'Die Anfrage hat zu lange gedauert',
  'Check your connection, and try again.': 'Prüfen Sie Ihre Verbindung, und versuchen Sie es noch einmal.',
  'That is too much': 'Das ist zu viel',
  'Go back, and send less.': 'Gehen Sie zurück, und senden Sie weniger.',
  'Too many attempts': 'Zu viele Versuche',
  'Something went wrong on our side': 'Bei uns ist etwas schiefgegangen',
  'Try again in a minute. Your input may not have been saved.':
    'Versuchen Sie es in einer Minute noch einmal. Ihre Eingabe wurde möglicherweise nicht gespeichert.',
  'The service cannot answer now': 'Der Dienst kann gerade nicht antworten',
  'Try again in a moment.': 'Versuchen Sie es gleich noch einmal.',
  'This does not work': 'Das funktioniert nicht',
  'This sign-in is over': 'Diese Anmeldung ist beendet',
  'Wait a second, then try again.': 'Warten Sie eine Sekunde, und versuchen Sie es dann noch einmal.',
  'Wait {count} seconds, then try again.':
    'Warten Sie {count} Sekunden, und versuchen Sie es dann noch einmal.',
  'Wait a minute, then try again.': 'Warten Sie eine Minute, und versuchen Sie es dann noch einmal.',
  'Wait {count} minutes, then try again.':
    'Warten Sie {count} Minuten, und versuchen Sie es dann noch einmal.',
  'The request cannot be understood.': 'Die Anfrage ist nicht verständlich.',
  'This needs a valid credential.': 'Dafür ist eine gültige Anmeldung nötig.',
  'You may not do this.': 'Das dürfen Sie nicht.',
  'There is nothing here.': 'Hier ist nichts.',
  'The change conflicts with what is stored.': 'Die Änderung passt nicht zum gespeicherten Stand.',
  'The request took too long to arrive.': 'Die Anfrage kam zu langsam an.',
  'The body is too large.': 'Die Anfrage ist zu groß.',
  'This form is no longer valid. Go back, reload the page and try again.':
    'Dieses Formular gilt nicht mehr. Gehen Sie zurück, laden Sie die Seite neu, und versuchen Sie es noch einmal.',
  'This request has ended. Go back to the app and start again.':
    'Diese Anfrage ist beendet. Gehen Sie zurück zur App, und beginnen Sie von vorn.',
  'This sign-in took too long, was finished in another tab, or belongs to another browser. Start again at the app.':
    'Diese Anmeldung hat zu lange gedauert, wurde in einem anderen Tab beendet oder gehört zu einem anderen Browser. Beginnen Sie noch einmal in der App.',
  'The account has just been changed. Sign in again.':
    'Das Konto wurde eben geändert. Melden Sie sich noch einmal an.',
  'The app no longer exists.': 'Die App gibt es nicht mehr.',
  'Sign in first.': 'Melden Sie sich zuerst an.',
  'This session has ended, and nothing was created. Sign in again.':
    'Diese Sitzung ist beendet, und es wurde nichts angelegt. Melden Sie sich noch einmal an.',
  'The account was recovered a moment ago, which ended its keys and webhooks: try again in a minute.':
    'Das Konto wurde eben wiederhergestellt; dabei endeten seine Schlüssel und Webhooks. Versuchen Sie es in einer Minute noch einmal.',
  'The address was changed too often. Try again later.':
    'Die Adresse wurde zu oft geändert. Versuchen Sie es später noch einmal.',
  'The passkey does not exist.': 'Diesen Passkey gibt es nicht.',
  'The linked account does not exist.': 'Dieses verknüpfte Konto gibt es nicht.',
  'The app does not have this secret.': 'Die App hat dieses Secret nicht.',
  'The form names an unknown change.': 'Das Formular nennt eine unbekannte Änderung.',
  'Users of this service cannot delete their accounts.':
    'Bei diesem Dienst können Sie Ihr Konto nicht selbst löschen.',
  'This service does not offer this sign-in.': 'Dieser Dienst bietet diese Anmeldung nicht an.',
  'The webhook is disabled or paused. Enable it first.':
    'Der Webhook ist ausgeschaltet oder angehalten. Schalten Sie ihn zuerst ein.',
  'This delivery was a test, not an event. Send another test instead.':
    'Diese Zustellung war ein Test, kein Ereignis. Senden Sie stattdessen noch einen Test.',
  'The secret was replaced concurrently. Try again.':
    'Das Secret wurde gleichzeitig ersetzt. Versuchen Sie es noch einmal.',

  // Sign-in
  'to continue to {name}': 'und weiter zu {name}',
  'Confirm it’s you': 'Bestätigen Sie, dass Sie es sind',
  'Confirm it’s you, {name}': 'Bestätigen Sie, dass Sie es sind, {name}',
  Confirm: 'Bestätigen',
  'Stay signed in': 'Angemeldet bleiben',
  'Forgotten your password?': 'Passwort vergessen?',
  'No account yet?': 'Noch kein Konto?',
  'Create one': 'Erstellen Sie eines',
  'Sign in with a passkey': 'Mit einem Passkey anmelden',
  'The passkey did not work. Try again, or use your password.':
    'Der Passkey hat nicht funktioniert. Versuchen Sie es noch einmal, oder nehmen Sie Ihr Passwort.',
  'The passkey was not accepted. Try again, or use your password.':
    'Der Passkey wurde nicht angenommen. Versuchen Sie es noch einmal, oder nehmen Sie Ihr Passwort.',
  'Your one-time code': 'Ihr Einmalcode',
  'One-time code': 'Einmalcode',
  Code: 'Code',
  'The six digits that your authenticator app shows, or one of your recovery codes.':
    'Die sechs Ziffern, die Ihre Authenticator-App zeigt, oder einer Ihrer Wiederherstellungscodes.',
  'Enter your e-mail address.': 'Geben Sie Ihre E-Mail-Adresse ein.',
  'Enter your password.': 'Geben Sie Ihr Passwort ein.',
  'The e-mail address or the password is wrong.': 'Die E-Mail-Adresse oder das Passwort ist falsch.',
  'The code is wrong, or was used already.': 'Der Code ist falsch oder wurde schon verwendet.',
  'That took too long. Sign in again.': 'Das hat zu lange gedauert. Melden Sie sich noch einmal an.',
  'That took too long. Fill in the form again.':
    'Das hat zu lange gedauert. Füllen Sie das Formular noch einmal aus.',
  'This changes how your account is protected, so sign in once more.':
    'Das ändert den Schutz Ihres Kontos. Melden Sie sich deshalb noch einmal an.',
  'If this address had no account, one was created. Sign in with the password that you have just chosen.':
    'Falls zu dieser Adresse kein Konto gehörte, wurde eines erstellt. Melden Sie sich mit dem Passwort an, das Sie eben gewählt haben.',
  'We have sent you a message. Open its link within 24 hours to continue.':
    'Wir haben Ihnen eine Nachricht geschickt. Öffnen Sie innerhalb von 24 Stunden den Link darin, um fortzufahren.',
  'If there is an account with this address, we have sent a link to it. It works for an hour.':
    'Falls zu dieser Adresse ein Konto gehört, haben wir einen Link dorthin geschickt. Er gilt eine Stunde lang.',
  or: 'oder',
  'Continue with {provider}': 'Weiter mit {provider}',
  'Back to sign-in': 'Zurück zur Anmeldung',
  'Sign in again': 'Erneut anmelden',
  'You are signed out': 'Sie sind abgemeldet',
  'You can close this page.': 'Sie können diese Seite schließen.',
  'Sign out?': 'Abmelden?',
  'An app asks to end your session in this browser.':
    'Eine App möchte Ihre Sitzung in diesem Browser beenden.',

  // Sign-up
  'Create an account': 'Konto erstellen',
  'Create account': 'Konto erstellen',
  'Create an account to continue to {name}': 'Konto erstellen und weiter zu {name}',
  'Have an account already?': 'Haben Sie schon ein Konto?',
  'At least {count} characters. A few words in a row are easy to remember and hard to guess.':
    'Mindestens {count} Zeichen. Einige Wörter hintereinander sind leicht zu merken und schwer zu erraten.',
  'Enter your name, in at most 100 characters.': 'Geben Sie Ihren Namen ein, mit höchstens 100 Zeichen.',
  'Enter an e-mail address, e.g. ada@example.com.':
    'Geben Sie eine E-Mail-Adresse ein, z. B. ada@example.com.',
  'Enter at least 10 characters.': 'Geben Sie mindestens 10 Zeichen ein.',
  'Enter at most 256 characters.': 'Geben Sie höchstens 256 Zeichen ein.',
  'Choose something other than your e-mail address.': 'Nehmen Sie etwas anderes als Ihre E-Mail-Adresse.',
  'This password is too easy to guess. Choose another one.':
    'Dieses Passwort ist zu leicht zu erraten. Wählen Sie ein anderes.',
  'Accounts are created by an administrator here.': 'Hier legt ein Administrator die Konten an.',
  'We have sent a message to {email}. Open its link within 24 hours to continue, here or on another device.':
    'Wir haben eine Nachricht an {email} geschickt. Öffnen Sie innerhalb von 24 Stunden den Link darin, hier oder auf einem anderen Gerät.',
  'Nothing there? Look among the unwanted mail, too. If the address is wrong, {link}.':
    'Nichts angekommen? Sehen Sie auch im Spam-Ordner nach. Wenn die Adresse falsch ist, {link}.',
  'correct it': 'korrigieren Sie sie',
  'Finish your account': 'Registrierung abschließen',
  'The account is for {email}. If you did not ask for one, close this page: no account will be created.':
    'Das Konto ist für {email}. Wenn Sie keines angefordert haben, schließen Sie diese Seite: Dann entsteht kein Konto.',
  'The one that you chose when you asked for the account.':
    'Das Passwort, das Sie bei der Registrierung gewählt haben.',
  'Create the account': 'Konto erstellen',
  'The password is wrong.': 'Das Passwort ist falsch.',
  'Your account could not be created': 'Ihr Konto konnte nicht erstellt werden',

  // Links in mails
  'Forgotten password': 'Passwort vergessen',
  'We send you a link to set a new one.': 'Wir schicken Ihnen einen Link, mit dem Sie ein neues festlegen.',
  'If there is an account with the address {email}, we have sent a link to it. It works for an hour.':
    'Falls zur Adresse {email} ein Konto gehört, haben wir einen Link dorthin geschickt. Er gilt eine Stunde lang.',
  'Every link of the last half hour works: use the newest one that you find.':
    'Jeder Link der letzten halben Stunde gilt: Nehmen Sie den neuesten, den Sie finden.',
  'Set a new password': 'Neues Passwort festlegen',
  'New password': 'Neues Passwort',
  'This secures the account: every session, passkey and API key ends, and connected apps must ask you again.':
    'Das sichert das Konto: Alle Sitzungen, Passkeys und API-Schlüssel enden, und verbundene Apps müssen Sie neu fragen.',
  'Set the password': 'Passwort festlegen',
  'Your password is set': 'Ihr Passwort ist festgelegt',
  'Your password is changed': 'Ihr Passwort ist geändert',
  'Back to security': 'Zurück zur Sicherheit',
  'This link no longer works': 'Dieser Link gilt nicht mehr',
  'This link no longer works. It has expired, or was used already.':
    'Dieser Link gilt nicht mehr. Er ist abgelaufen oder wurde schon verwendet.',
  'It has expired, or was used already. Ask for a new one.':
    'Er ist abgelaufen oder wurde schon verwendet. Fordern Sie einen neuen an.',
  'Ask for a new link': 'Neuen Link anfordern',
  'This service sends no mail': 'Dieser Dienst verschickt keine E-Mails',
  'Mail is not set up here, so no link can be sent to you.':
    'Hier ist kein E-Mail-Versand eingerichtet, deshalb können wir Ihnen keinen Link schicken.',
  'Whoever runs the service can set a new password for you.':
    'Die Betreiber des Dienstes können ein neues Passwort für Sie festlegen.',
  'Confirm your address': 'Adresse bestätigen',
  'Confirm the address': 'Adresse bestätigen',
  'Should {email} become the address of your account?': 'Soll {email} die Adresse Ihres Kontos werden?',
  'Is {email} yours?': 'Gehört {email} Ihnen?',
  'Your password': 'Ihr Passwort',
  'This is not your password.': 'Das ist nicht Ihr Passwort.',
  'Too many attempts. Try again in a minute.':
    'Zu viele Versuche. Versuchen Sie es in einer Minute noch einmal.',
  'Too many attempts. Try again in {count} minutes.':
    'Zu viele Versuche. Versuchen Sie es in {count} Minuten noch einmal.',
  'You have a password already. Load the page again.':
    'Sie haben schon ein Passwort. Laden Sie die Seite neu.',
  'This link is for another account': 'Dieser Link ist für ein anderes Konto',
  'You are signed in to a different account. To confirm {email}, sign in to the account that asked for it.':
    'Sie sind bei einem anderen Konto angemeldet. Um {email} zu bestätigen, melden Sie sich bei dem Konto an, das die Adresse angefordert hat.',
  'Sign in to that account': 'Bei jenem Konto anmelden',
  Ended: 'Beendet',
  'Still there': 'Noch vorhanden',
  'There was nothing to end.': 'Es gab nichts zu beenden.',
  'Nothing that lets anyone sign in without the password.':
    'Nichts, womit sich jemand ohne das Passwort anmelden könnte.',
  'Signing in with your password still asks for a one-time code.':
    'Die Anmeldung mit Passwort verlangt weiterhin einen Einmalcode.',
  'Your own apps stay, with their secrets. If somebody else had your account, look through them and make new secrets:':
    'Ihre eigenen Apps bleiben, mit ihren Secrets. Falls jemand anderes Ihr Konto hatte, sehen Sie sie durch und erstellen Sie neue Secrets:',
  '1 session': '1 Sitzung',
  '{count} sessions': '{count} Sitzungen',
  '1 connected app': '1 verbundene App',
  '{count} connected apps': '{count} verbundene Apps',
  '1 API key': '1 API-Schlüssel',
  '{count} API keys': '{count} API-Schlüssel',
  '1 passkey': '1 Passkey',
  '{count} passkeys': '{count} Passkeys',
  '1 sign-in with another provider': '1 Anmeldung über einen anderen Anbieter',
  '{count} sign-ins with other providers': '{count} Anmeldungen über andere Anbieter',
  'one-time codes': 'Einmalcodes',

  // Sign-in with other providers
  'You will sign in with {provider}.': 'Sie melden sich mit {provider} an.',
  'We send a link there. The account is created when you open it.':
    'Wir schicken einen Link dorthin. Das Konto entsteht, wenn Sie ihn öffnen.',
  'Have an account already? [Sign in](/account/sign-in), then link {provider} under Security.':
    'Haben Sie schon ein Konto? [Melden Sie sich an](/account/sign-in), und verknüpfen Sie dann {provider} unter Sicherheit.',
  'Sign in with {provider} once more, to prove that you asked for the account.':
    'Melden Sie sich noch einmal mit {provider} an, um zu zeigen, dass Sie das Konto angefordert haben.',
  'Link {provider}?': '{provider} verknüpfen?',
  'Link {provider}': '{provider} verknüpfen',
  'Do not link': 'Nicht verknüpfen',
  '{label} at {provider} will sign in to your account here, {email}.':
    '{label} bei {provider} kann sich dann bei Ihrem Konto hier anmelden, {email}.',
  '{provider} was not linked': '{provider} wurde nicht verknüpft',
  'Your account has the maximum number of linked accounts. Unlink one first.':
    'Ihr Konto hat die Höchstzahl verknüpfter Konten. Lösen Sie zuerst eine Verknüpfung.',
  'That account at {provider} is linked to another account here. Unlink it there first.':
    'Jenes Konto bei {provider} ist hier mit einem anderen Konto verknüpft. Lösen Sie die Verknüpfung zuerst dort.',
  'You are signed in to another account': 'Sie sind bei einem anderen Konto angemeldet',
  'Your account at {provider} can only be linked to the account with the address {email} here. Sign in to that account, or link {provider} to this account under Security.':
    'Ihr Konto bei {provider} lässt sich hier nur mit dem Konto mit der Adresse {email} verknüpfen. Melden Sie sich bei jenem Konto an, oder verknüpfen Sie {provider} unter Sicherheit mit diesem.',
  'Sign in to it': 'Dort anmelden',
  'An account with your address at {provider} exists already. Sign in to it as before: then you can link {provider}.':
    'Zu Ihrer Adresse bei {provider} gibt es schon ein Konto. Melden Sie sich dort wie bisher an: Dann können Sie {provider} verknüpfen.',
  'This account at {provider} is not linked': 'Dieses Konto bei {provider} ist nicht verknüpft',
  'Confirm that it is you in a way that your account has, then link this one under Security.':
    'Bestätigen Sie auf einem Weg, den Ihr Konto hat, dass Sie es sind, und verknüpfen Sie dieses dann unter Sicherheit.',
  'This account is for somebody else': 'Dieses Konto ist für jemand anderen',
  'The link has expired, was used already, or belongs to another account at the provider. Open it again, and sign in with the account that you used to request it.':
    'Der Link ist abgelaufen, wurde schon verwendet oder gehört zu einem anderen Konto beim Anbieter. Öffnen Sie ihn noch einmal, und melden Sie sich mit dem Konto an, mit dem Sie ihn angefordert haben.',
  'You have no account here': 'Sie haben hier kein Konto',
  '{provider} has signed you in, but your account there is not linked to an account here.':
    '{provider} hat Sie angemeldet, aber Ihr Konto dort ist hier mit keinem Konto verknüpft.',
  'An account with your address exists already': 'Zu Ihrer Adresse gibt es schon ein Konto',
  'Its address was never confirmed, so it may belong to somebody else, and nothing is linked to it.':
    'Die Adresse wurde nie bestätigt. Das Konto könnte deshalb jemand anderem gehören, und es wird nichts mit ihm verknüpft.',
  'If it is yours, sign in to it, confirm the address, and link {provider} under Security. If you cannot sign in, set a new password with a link that we send to your address: then the account is yours.':
    'Wenn es Ihres ist, melden Sie sich an, bestätigen Sie die Adresse, und verknüpfen Sie {provider} unter Sicherheit. Wenn Sie sich nicht anmelden können, legen Sie mit einem Link, den wir an Ihre Adresse schicken, ein neues Passwort fest: Dann ist das Konto Ihres.',
  'You are not signed in': 'Sie sind nicht angemeldet',
  '{provider} reports that you cancelled the sign-in. Nothing was changed.':
    '{provider} meldet, dass Sie die Anmeldung abgebrochen haben. Es wurde nichts geändert.',
  '{provider} does not answer': '{provider} antwortet nicht',
  'Try again in a few minutes, or sign in another way.':
    'Versuchen Sie es in einigen Minuten noch einmal, oder melden Sie sich auf einem anderen Weg an.',
  '{provider} could not sign you in': '{provider} konnte Sie nicht anmelden',
  'The response of {provider} is not valid, so you are not signed in. Try again.':
    'Die Antwort von {provider} ist ungültig, deshalb sind Sie nicht angemeldet. Versuchen Sie es noch einmal.',
  'If this happens again, tell the operators of this service: their log contains the reason.':
    'Wenn das wieder geschieht, sagen Sie es den Betreibern dieses Dienstes: Ihr Protokoll enthält den Grund.',
  'It took too long, was used already, or was started in another browser. Start again.':
    'Sie hat zu lange gedauert, wurde schon verwendet oder in einem anderen Browser begonnen. Beginnen Sie von vorn.',

  // Consent
  '{name} asks for access to your account': '{name} bittet um Zugriff auf Ihr Konto',
  'Allow {name}?': '{name} erlauben?',
  'You are signed in as {email}.': 'Sie sind als {email} angemeldet.',
  'Use another account': 'Anderes Konto verwenden',
  'Choose an account': 'Konto wählen',
  'Choose an account for {name}': 'Wählen Sie ein Konto für {name}',
  'Continue as {email}': 'Weiter als {email}',
  'You have allowed {name} access before. New permissions are marked.':
    'Sie haben {name} schon einmal Zugriff erlaubt. Neue Berechtigungen sind markiert.',
  'You have allowed {name} all of this before.': 'Sie haben {name} all das schon einmal erlaubt.',
  '{name} will be able to:': '{name} darf dann:',
  'About you': 'Über Sie',
  'What it can do for you': 'Was sie für Sie tun kann',
  'Accounts, keys and apps': 'Konten, Schlüssel und Apps',
  New: 'Neu',
  'Can delete': 'Kann löschen',
  Scope: 'Scope',
  See: 'Sehen',
  Create: 'Anlegen',
  Change: 'Ändern',
  Delete: 'Löschen',
  'Nothing: you cannot do this either': 'Nichts: Das können Sie auch nicht',
  'Nothing: you cannot use {items} either': 'Nichts: {items} können Sie auch nicht nutzen',
  'In your name': 'In Ihrem Namen',
  sees: 'sieht',
  changes: 'ändert',
  deletes: 'löscht',
  'everyone’s': 'die von allen',
  'only your own': 'nur Ihre eigenen',
  'those that you may': 'die, die auch Sie dürfen',
  none: 'keine',
  see: 'sehen',
  create: 'anlegen',
  change: 'ändern',
  delete: 'löschen',
  '{verbs} {items}': '{items} {verbs}',
  'your own': 'eigene',
  'your own {items}': 'Ihre eigenen {items}',
  users: 'Konten',
  'secrets of OAuth apps': 'Secrets von OAuth-Apps',
  webhooks: 'Webhooks',
  'deliveries of webhooks': 'Zustellungen von Webhooks',
  Accounts: 'Konten',
  'Secrets of OAuth apps': 'Secrets von OAuth-Apps',
  'Webhook deliveries': 'Zustellungen von Webhooks',
  'Know who you are': 'Wissen, wer Sie sind',
  'See your name': 'Ihren Namen sehen',
  'See your e-mail address': 'Ihre E-Mail-Adresse sehen',
  'Keep this access while you are away': 'Diesen Zugriff behalten, während Sie weg sind',
  'Only this: {sentence}': 'Nur das: {sentence}',
  'Next, you go to {address}': 'Danach geht es weiter zu {address}',
  'Your device continues automatically.': 'Ihr Gerät fährt automatisch fort.',
  'This app runs on a device. Anyone can name an app “{name}”: allow it only if you have just started it.':
    'Diese App läuft auf einem Gerät. Jeder kann eine App „{name}“ nennen: Erlauben Sie sie nur, wenn Sie sie eben gestartet haben.',
  'This app runs on a device. Anyone can name an app “{name}”: allow it only if you have just started it, and if you know the address above.':
    'Diese App läuft auf einem Gerät. Jeder kann eine App „{name}“ nennen: Erlauben Sie sie nur, wenn Sie sie eben gestartet haben und die Adresse oben kennen.',
  Allow: 'Erlauben',
  'It never gets your password, and can never do more than you can.':
    'Sie erhält nie Ihr Passwort und darf nie mehr als Sie.',
  'You can revoke this access at any time under [Connected apps](/account/apps).':
    'Sie können diesen Zugriff jederzeit unter [Verbundene Apps](/account/apps) widerrufen.',
  'About {name}': 'Über {name}',
  'Registered here': 'Hier registriert',

  // Devices
  'Connect a device': 'Gerät verbinden',
  'The code that your device shows.': 'Der Code, den Ihr Gerät zeigt.',
  'Enter the code that your device shows.': 'Geben Sie den Code ein, den Ihr Gerät zeigt.',
  'This code does not exist. Compare it with the code on your device.':
    'Diesen Code gibt es nicht. Vergleichen Sie ihn mit dem Code auf Ihrem Gerät.',
  'The code has expired. Start again on your device.':
    'Der Code ist abgelaufen. Beginnen Sie auf Ihrem Gerät von vorn.',
  'This code has already been used. Start again on your device.':
    'Dieser Code wurde schon verwendet. Beginnen Sie auf Ihrem Gerät von vorn.',
  'This page is no longer valid. Enter the code again.':
    'Diese Seite gilt nicht mehr. Geben Sie den Code noch einmal ein.',
  'This did not work. Start again on your device.':
    'Das hat nicht funktioniert. Beginnen Sie auf Ihrem Gerät von vorn.',
  'You have stopped this': 'Sie haben das abgebrochen',
  'The device gets no access. You can close this page.':
    'Das Gerät erhält keinen Zugriff. Sie können diese Seite schließen.',
  'Enter another code': 'Anderen Code eingeben',
  'Connect {name}?': '{name} verbinden?',
  'Connect {name}': '{name} verbinden',
  'Does your device show this code?': 'Zeigt Ihr Gerät diesen Code?',
  'Continue only if the device is in front of you and you have just started this on it. If somebody sent you the code or a link, cancel.':
    'Fahren Sie nur fort, wenn das Gerät vor Ihnen steht und Sie das eben darauf begonnen haben. Wenn Ihnen jemand den Code oder einen Link geschickt hat, brechen Sie ab.',
  'Yes, connect it': 'Ja, verbinden',
  'Device connected': 'Gerät verbunden',
  '{name} is connected': '{name} ist verbunden',
  'Go back to your device, which continues automatically. You can close this page.':
    'Gehen Sie zurück zu Ihrem Gerät, das automatisch fortfährt. Sie können diese Seite schließen.',
  'You can revoke its access at any time under [Connected apps](/account/apps).':
    'Sie können den Zugriff jederzeit unter [Verbundene Apps](/account/apps) widerrufen.',

  // Errors of authorization requests
  'The app': 'Die App',
  'the app': 'die App',
  'This app is not known here': 'Diese App ist hier nicht bekannt',
  'The app that sent you here is not registered with {service}, or is no longer registered. Nothing was shared with it.':
    'Die App, die Sie hierher geschickt hat, ist bei {service} nicht oder nicht mehr registriert. Sie hat nichts erhalten.',
  'Close this page. If you trust the app, tell its developer.':
    'Schließen Sie diese Seite. Wenn Sie der App vertrauen, sagen Sie es ihrem Entwickler.',
  'You cannot go on to {app}': 'Sie können nicht weiter, und {app} hat nichts erhalten',
  'The app asked us to send you to an address that is not registered for {app}. The address may belong to somebody else, so nothing was shared.':
    'Die App wollte Sie an eine Adresse schicken lassen, die für {app} nicht registriert ist. Die Adresse könnte jemand anderem gehören, deshalb wurde nichts weitergegeben.',
  'Do not follow the link that led here again. Open the app yourself, and start there.':
    'Folgen Sie dem Link, der hierher führte, nicht noch einmal. Öffnen Sie die App selbst, und beginnen Sie dort.',
  'This took too long': 'Das hat zu lange gedauert',
  'The request of the app has expired, was answered in another tab, or belongs to another browser. Nothing is lost.':
    'Die Anfrage der App ist abgelaufen, wurde in einem anderen Tab beantwortet oder gehört zu einem anderen Browser. Es ist nichts verloren.',
  'Go back to the app and start again. If the problem persists, allow cookies for this site.':
    'Gehen Sie zurück zur App, und beginnen Sie von vorn. Wenn das Problem bleibt, erlauben Sie Cookies für diese Website.',
  'You are not signed out yet': 'Sie sind noch nicht abgemeldet',
  '{app} sent a sign-out request that is not valid. You can sign out on the page of your sessions.':
    '{app} hat eine ungültige Abmeldung gesendet. Sie können sich auf der Seite Ihrer Sitzungen abmelden.',
  'This is not your fault, nor that of {app}. Wait a minute, then start again.':
    'Das liegt nicht an Ihnen, und {app} kann auch nichts dafür. Warten Sie eine Minute, und beginnen Sie dann von vorn.',
  '{app} asked for something that does not work': '{app} hat etwas verlangt, das nicht funktioniert',
  'Nothing was shared with it.': 'Sie hat nichts erhalten.',
  'Go back to the app and start again. If the problem persists, send the details below to the developer of the app.':
    'Gehen Sie zurück zur App, und beginnen Sie von vorn. Wenn das Problem bleibt, schicken Sie die Details unten an den Entwickler der App.',
  'Go to {site}': 'Zu {site}',
  'For those who make the app': 'Für die Entwickler der App',

  // Overview
  'New address': 'Neue Adresse',
  '{address} becomes the address of your account when you open the link that we have sent there and confirm it.':
    '{address} wird die Adresse Ihres Kontos, wenn Sie den Link öffnen, den wir dorthin geschickt haben, und sie bestätigen.',
  'Keep the old address': 'Bisherige Adresse behalten',
  '{items} or more': '{items} oder mehr',
  'authenticator app on': 'Authenticator-App an',
  '1 linked account': '1 verknüpftes Konto',
  '{count} linked accounts': '{count} verknüpfte Konten',
  'Password only': 'Nur Passwort',
  'No password': 'Kein Passwort',
  'add a passkey': 'fügen Sie einen Passkey hinzu',
  'This browser only': 'Nur dieser Browser',
  '{count} browsers': '{count} Browser',
  '1 app': '1 App',
  '{count} apps': '{count} Apps',
  '1 key': '1 Schlüssel',
  '{count} keys': '{count} Schlüssel',
  '1 webhook': '1 Webhook',
  '{count} webhooks': '{count} Webhooks',
  'None yet': 'Noch keine',
  'Name, address, your data': 'Name, Adresse, Ihre Daten',
  'Reference and guides': 'Referenz und Leitfäden',
  Confirmed: 'Bestätigt',
  'Not confirmed': 'Nicht bestätigt',
  'Here since {day}': 'Dabei seit {day}',

  // After a change
  'Your address is confirmed.': 'Ihre Adresse ist bestätigt.',
  'Your address is confirmed. Other sessions have ended, with everything that was created or allowed in them, and your API keys are revoked.':
    'Ihre Adresse ist bestätigt. Andere Sitzungen sind beendet, mit allem, was darin angelegt oder erlaubt wurde, und Ihre API-Schlüssel sind widerrufen.',
  'Your account keeps its address.': 'Ihr Konto behält seine Adresse.',
  'The app is disconnected. Its tokens no longer work.':
    'Die App ist getrennt. Ihre Tokens gelten nicht mehr.',
  'The session has ended.': 'Die Sitzung ist beendet.',
  'You are signed out everywhere else.': 'Sie sind überall sonst abgemeldet.',
  'The passkey is added.': 'Der Passkey ist hinzugefügt.',
  'The passkey is removed.': 'Der Passkey ist entfernt.',
  'The key is revoked. It no longer works.': 'Der Schlüssel ist widerrufen. Er gilt nicht mehr.',
  'Your changes are saved.': 'Ihre Änderungen sind gespeichert.',
  'The app is deleted. Its tokens no longer work.': 'Die App ist gelöscht. Ihre Tokens gelten nicht mehr.',
  'The secret has ended.': 'Das Secret ist beendet.',
  'We have sent a link to the new address. Your account gets the address when you open the link and confirm it.':
    'Wir haben einen Link an die neue Adresse geschickt. Ihr Konto erhält die Adresse, wenn Sie den Link öffnen und sie bestätigen.',
  'Mail is not set up here, so the new address cannot be confirmed. Whoever runs the service can change it for you.':
    'Hier ist kein E-Mail-Versand eingerichtet, deshalb lässt sich die neue Adresse nicht bestätigen. Die Betreiber des Dienstes können sie für Sie ändern.',
  'The account is linked. You can now sign in with it.':
    'Das Konto ist verknüpft. Sie können sich jetzt damit anmelden.',
  'The account is unlinked.': 'Die Verknüpfung ist gelöst.',
  'Your password is set.': 'Ihr Passwort ist festgelegt.',
  'The webhook is deleted.': 'Der Webhook ist gelöscht.',
  'The webhook resumes where it stopped.': 'Der Webhook setzt dort fort, wo er angehalten wurde.',
  'The webhook is turned on.': 'Der Webhook ist eingeschaltet.',
  'The webhook is turned off.': 'Der Webhook ist ausgeschaltet.',
  'A test was sent. The response is shown below, or will be when you load the page again.':
    'Ein Test wurde gesendet. Die Antwort steht unten, oder sobald Sie die Seite neu laden.',
  'The event is sent again.': 'Das Ereignis wird noch einmal gesendet.',
  'One-time codes are turned off.': 'Einmalcodes sind ausgeschaltet.',

  // Profile
  'Enter your name.': 'Geben Sie Ihren Namen ein.',
  'Enter the new address.': 'Geben Sie die neue Adresse ein.',
  'Your account has this address already.': 'Ihr Konto hat diese Adresse schon.',
  'We send a link there. Until you open it, the account keeps its present address, which is notified of the request.':
    'Wir schicken einen Link dorthin. Bis Sie ihn öffnen, behält das Konto seine bisherige Adresse, die über die Anfrage benachrichtigt wird.',
  'Change the address': 'Adresse ändern',
  'Everything that belongs to you and that you can see, as one file.':
    'Alles, was Ihnen gehört und was Sie sehen können, als eine Datei.',
  'Download your data': 'Ihre Daten herunterladen',
  'One JSON file, as of the moment at which you download it:':
    'Eine JSON-Datei, mit dem Stand des Augenblicks, in dem Sie sie herunterladen:',
  'your account: name, address, and every other field that you may see':
    'Ihr Konto: Name, Adresse und jedes weitere Feld, das Sie sehen dürfen',
  'the sessions in which you are signed in, your passkeys by name, and whether one-time codes are on':
    'die Sitzungen, in denen Sie angemeldet sind, Ihre Passkeys mit Namen, und ob Einmalcodes an sind',
  'the apps that you have connected, and what each may do':
    'die Apps, die Sie verbunden haben, und was jede darf',
  'your {items}': 'Ihre {items}',
  'It contains no passwords, keys or secrets, and nothing that you could not see otherwise. Keep it safe: it is a copy of your account.':
    'Sie enthält keine Passwörter, Schlüssel oder Secrets, und nichts, was Sie nicht auch sonst sehen könnten. Bewahren Sie sie sicher auf: Sie ist eine Kopie Ihres Kontos.',
  'Delete your account': 'Konto löschen',
  'Delete your account?': 'Konto löschen?',
  'This deletes the account and everything that belongs to you alone. It cannot be undone.':
    'Das löscht das Konto und alles, was Ihnen allein gehört. Es lässt sich nicht rückgängig machen.',
  'Your account cannot be deleted yet': 'Ihr Konto lässt sich noch nicht löschen',
  'Some items refer to your account and are not deleted with it. Delete them first, or give them to somebody else; if you cannot, contact the people who run {service}.':
    'Einige Einträge verweisen auf Ihr Konto und werden nicht mit ihm gelöscht. Löschen Sie sie zuerst, oder übertragen Sie sie jemand anderem; wenn das nicht geht, wenden Sie sich an die Betreiber von {service}.',
  'At once, and for good:': 'Sofort und endgültig:',
  'you are signed out everywhere, and your password, passkeys and codes are gone':
    'werden Sie überall abgemeldet, und Ihr Passwort, Ihre Passkeys und Codes sind weg',
  'apps that you have connected lose their access': 'verlieren Apps, die Sie verbunden haben, ihren Zugriff',
  'what is yours is deleted: {items}': 'wird gelöscht, was Ihnen gehört: {items}',
  'these stay, without your name: {items}': 'bleiben diese, ohne Ihren Namen: {items}',
  'The record of past events names the account until those events expire. [Download your data](/account/profile/export) first, if you want to keep it.':
    'Die Aufzeichnung vergangener Ereignisse nennt das Konto, bis diese Ereignisse ablaufen. [Laden Sie Ihre Daten](/account/profile/export) vorher herunter, wenn Sie sie behalten möchten.',
  'Your e-mail address': 'Ihre E-Mail-Adresse',
  'Type {email} to confirm.': 'Geben Sie zur Bestätigung {email} ein.',
  'This is not the address of your account.': 'Das ist nicht die Adresse Ihres Kontos.',
  'Delete my account': 'Mein Konto löschen',
  'Keep it': 'Behalten',
  'Your account was not deleted. {reason}': 'Ihr Konto wurde nicht gelöscht. {reason}',
  'Your account is deleted': 'Ihr Konto ist gelöscht',
  'You are signed out everywhere. We have sent a message to the address of the account.':
    'Sie sind überall abgemeldet. Wir haben eine Nachricht an die Adresse des Kontos geschickt.',

  // Security
  'Current password': 'Aktuelles Passwort',
  'Change the password': 'Passwort ändern',
  'A new password signs you out everywhere else, and connected apps must ask you again. Your passkeys and one-time codes remain: check them below.':
    'Ein neues Passwort meldet Sie überall sonst ab, und verbundene Apps müssen Sie neu fragen. Ihre Passkeys und Einmalcodes bleiben: Prüfen Sie sie unten.',
  'Revoke my API key too': 'Auch meinen API-Schlüssel widerrufen',
  'Revoke my {count} API keys too': 'Auch meine {count} API-Schlüssel widerrufen',
  'You have no password: you sign in by other means. With a password, you can also sign in without them.':
    'Sie haben kein Passwort: Sie melden sich anders an. Mit einem Passwort können Sie sich auch ohne diese Wege anmelden.',
  'Set a password': 'Passwort festlegen',
  'This is your only way to sign in. Set a password or add another way first.':
    'Das ist Ihr einziger Weg, sich anzumelden. Legen Sie zuerst ein Passwort fest, oder fügen Sie einen anderen Weg hinzu.',
  Passkeys: 'Passkeys',
  'With a passkey you sign in by your device’s own lock, without a password.':
    'Mit einem Passkey melden Sie sich mit der Sperre Ihres Geräts an, ohne Passwort.',
  'Added on {day}': 'Hinzugefügt am {day}',
  'Remove {name}': '{name} entfernen',
  'Adding a passkey needs JavaScript.': 'Um einen Passkey hinzuzufügen, ist JavaScript nötig.',
  'To recognise it by, e.g. My phone.': 'Zum Wiedererkennen, z. B. Mein Telefon.',
  'Add a passkey': 'Passkey hinzufügen',
  'The passkey was not added. Try again.':
    'Der Passkey wurde nicht hinzugefügt. Versuchen Sie es noch einmal.',
  'This device already has a passkey for this account.':
    'Dieses Gerät hat schon einen Passkey für dieses Konto.',
  'One-time codes': 'Einmalcodes',
  On: 'An',
  Off: 'Aus',
  'Turn on': 'Einschalten',
  'Turn off': 'Ausschalten',
  'Turn on one-time codes': 'Einmalcodes einschalten',
  'Signing in with your password asks for a code. You have {count} recovery codes left.':
    'Die Anmeldung mit Passwort verlangt einen Code. Sie haben noch {count} Wiederherstellungscodes.',
  'Signing in with your password asks for a code. You have 1 recovery code left.':
    'Die Anmeldung mit Passwort verlangt einen Code. Sie haben noch 1 Wiederherstellungscode.',
  'New recovery codes': 'Neue Wiederherstellungscodes',
  'With an authenticator app, signing in with your password also takes a code that changes every 30 seconds.':
    'Mit einer Authenticator-App verlangt die Anmeldung mit Passwort zusätzlich einen Code, der sich alle 30 Sekunden ändert.',
  'Scan this picture with your authenticator app, or type the key into it.':
    'Lesen Sie dieses Bild mit Ihrer Authenticator-App ein, oder geben Sie den Schlüssel dort ein.',
  'Type the code that the app then shows.': 'Geben Sie den Code ein, den die App dann zeigt.',
  'QR code for your authenticator app; the key below says the same':
    'QR-Code für Ihre Authenticator-App; der Schlüssel darunter enthält dasselbe',
  'Key:': 'Schlüssel:',
  'Six digits.': 'Sechs Ziffern.',
  'The code is wrong. Enter the code that the app shows now.':
    'Der Code ist falsch. Geben Sie den Code ein, den die App jetzt zeigt.',
  'Recovery codes': 'Wiederherstellungscodes',
  'Your recovery codes': 'Ihre Wiederherstellungscodes',
  'Recovery codes for {email}': 'Wiederherstellungscodes für {email}',
  'Keep them somewhere safe: they are shown only now. Each one signs you in once if you lose your authenticator app.':
    'Bewahren Sie sie sicher auf: Sie werden nur jetzt gezeigt. Jeder meldet Sie einmal an, wenn Sie Ihre Authenticator-App verlieren.',
  'Copy: Your recovery codes': 'Kopieren: Ihre Wiederherstellungscodes',
  'I have saved them': 'Ich habe sie gespeichert',
  'Sign-in with others': 'Anmeldung mit anderen',
  'An account that is linked here signs in to this one. Its address and name there do not matter.':
    'Ein hier verknüpftes Konto kann sich bei diesem anmelden. Adresse und Name dort spielen keine Rolle.',
  'Linked on {time}.': 'Verknüpft am {time}.',
  'It cannot sign in at the moment: this service does not offer {provider}.':
    'Es kann sich zurzeit nicht anmelden: Dieser Dienst bietet {provider} nicht an.',
  Unlink: 'Verknüpfung lösen',
  'Unlink {provider}, {label}': 'Verknüpfung lösen: {provider}, {label}',
  'Another {provider} account': 'Weiteres Konto bei {provider}',

  // Sessions and connected apps
  'These browsers are signed in to your account. Sign out any that you do not recognise.':
    'Diese Browser sind bei Ihrem Konto angemeldet. Melden Sie jeden ab, den Sie nicht kennen.',
  'In use now': 'Gerade in Gebrauch',
  'Used {time}': 'Benutzt {time}',
  'used {time}': 'benutzt {time}',
  'Signed in on {day}, until {end}': 'Angemeldet am {day}, bis {end}',
  'This browser': 'Dieser Browser',
  'This browser too': 'Auch diesen Browser',
  'Sign out {name}': '{name} abmelden',
  'Sign out everywhere': 'Überall abmelden',
  'Do this if you have lost a device, or if you see a browser that is not yours; then [change your password](/account/security). Connected apps and API keys keep their access: see [Connected apps](/account/apps) and [API keys](/account/keys).':
    'Tun Sie das, wenn Sie ein Gerät verloren haben oder einen fremden Browser sehen; [ändern Sie danach Ihr Passwort](/account/security). Verbundene Apps und API-Schlüssel behalten ihren Zugriff: siehe [Verbundene Apps](/account/apps) und [API-Schlüssel](/account/keys).',
  'And {count} more, used longer ago.': 'Und {count} weitere, länger nicht benutzt.',
  'And {count} more': 'Und {count} weitere',
  'No app has access to your account.': 'Keine App hat Zugriff auf Ihr Konto.',
  'These apps have access to your account. An app that you disconnect loses its access at once, until you allow it again. API keys that it has made end with it.':
    'Diese Apps haben Zugriff auf Ihr Konto. Eine App, die Sie trennen, verliert ihn sofort, bis Sie ihn wieder erlauben. API-Schlüssel, die sie erstellt hat, enden damit.',
  'You were not asked · last signed in on {day}': 'Sie wurden nicht gefragt · zuletzt angemeldet am {day}',
  'Allowed on {day}': 'Erlaubt am {day}',
  'Part of this service': 'Teil dieses Dienstes',
  Disconnect: 'Trennen',
  'Disconnect {name}': '{name} trennen',

  // Scopes
  Nothing: 'Nichts',
  Read: 'Lesen',
  'Read and change': 'Lesen und ändern',
  'Sign-in': 'Anmeldung',
  Data: 'Daten',
  Operations: 'Operationen',
  'The people who have an account.': 'Menschen mit einem Konto.',
  'Keys that let a program act for the user who created them.':
    'Schlüssel, mit denen ein Programm für den Benutzer handelt, der sie erstellt hat.',
  'Apps that ask users for access by OAuth 2.0.': 'Apps, die Benutzer mit OAuth 2.0 um Zugriff bitten.',
  'The secrets of confidential apps. Creating one makes the earlier ones expire after a while; deleting one revokes it at once.':
    'Die Secrets von Apps, die eines bewahren können. Ein neues lässt die früheren nach einer Weile ablaufen; ein gelöschtes gilt sofort nicht mehr.',
  'URLs to which events are sent.': 'Adressen, an die Ereignisse gesendet werden.',
  'Deliveries of webhooks, sent and scheduled.': 'Gesendete und geplante Zustellungen von Webhooks.',
  'Only what I choose here': 'Nur, was ich hier wähle',

  // API keys
  'API key': 'API-Schlüssel',
  'Create a key': 'Schlüssel erstellen',
  'Create the key': 'Schlüssel erstellen',
  'New API key': 'Neuer API-Schlüssel',
  'Your new key': 'Ihr neuer Schlüssel',
  'With an API key, a program of your own uses the API as you, within the key’s scopes. Anyone who has the key can do the same: keep it as safe as a password. [How to use one](/docs)':
    'Mit einem API-Schlüssel nutzt ein eigenes Programm die API in Ihrem Namen, im Rahmen der Scopes des Schlüssels. Wer den Schlüssel hat, kann dasselbe: Bewahren Sie ihn so sicher auf wie ein Passwort. [So benutzen Sie einen](/docs)',
  'You have no API keys.': 'Sie haben keine API-Schlüssel.',
  'The last use of a key is recorded at most once an hour, so a key may have been used more recently.':
    'Die letzte Benutzung eines Schlüssels wird höchstens einmal in der Stunde festgehalten; sie kann also kürzer zurückliegen.',
  'These are the newest. `{request}` lists all.': 'Das sind die neuesten. `{request}` listet alle auf.',
  'Begins with': 'Beginnt mit',
  May: 'Darf',
  Created: 'Erstellt',
  'Made by': 'Erstellt von',
  'Last used': 'Zuletzt benutzt',
  'Not yet': 'Noch nicht',
  Expires: 'Läuft ab',
  Expired: 'Abgelaufen',
  Never: 'Nie',
  'Everything that you may do': 'Alles, was Sie dürfen',
  'an app': 'einer App',
  'the app {name}': 'der App {name}',
  'a key that is gone': 'einem Schlüssel, den es nicht mehr gibt',
  'the key {name}': 'dem Schlüssel {name}',
  '{app}. It ends with the access of the app.': '{app}. Er endet mit dem Zugriff der App.',
  '{key}, which descends from {app}': '{key}, der von {app} stammt',
  'What the key is for, e.g. Nightly backup.': 'Wofür der Schlüssel ist, z. B. Nächtliche Sicherung.',
  'A key that expires does less harm if it is lost.':
    'Ein Schlüssel, der abläuft, richtet weniger Schaden an, wenn er verloren geht.',
  'In {count} days, on {day}': 'In {count} Tagen, am {day}',
  'On a date of my choice': 'An einem Tag meiner Wahl',
  'Never: only for programs whose key nobody can replace':
    'Nie: nur für Programme, deren Schlüssel niemand ersetzen kann',
  Date: 'Tag',
  'For “On a date of my choice”: the key works until the end of that day, UTC.':
    'Für „An einem Tag meiner Wahl“: Der Schlüssel gilt bis zum Ende dieses Tages, UTC.',
  'What the key may do': 'Was der Schlüssel darf',
  'Anyone with such a key can also change your profile, create more keys and delete your data. Most programs need far less.':
    'Wer einen solchen Schlüssel hat, kann auch Ihr Profil ändern, weitere Schlüssel erstellen und Ihre Daten löschen. Die meisten Programme brauchen viel weniger.',
  'Enter a name.': 'Geben Sie einen Namen ein.',
  'Enter a future date, e.g. 2031-12-31.': 'Geben Sie einen künftigen Tag ein, z. B. 2031-12-31.',
  'Choose when the key expires.': 'Wählen Sie, wann der Schlüssel abläuft.',
  'Choose at least one permission for the key.': 'Wählen Sie mindestens eine Berechtigung für den Schlüssel.',
  'Copy it now: it is shown only this once. If you lose it, revoke it and create another.':
    'Kopieren Sie ihn jetzt: Er wird nur dieses eine Mal gezeigt. Wenn Sie ihn verlieren, widerrufen Sie ihn und erstellen Sie einen neuen.',
  'Try it in a terminal': 'Im Terminal ausprobieren',
  'I have saved it': 'Ich habe ihn gespeichert',
  'Revoke {name}': '{name} widerrufen',
  'Revoke {name}?': '{name} widerrufen?',
  'Revoke a key': 'Schlüssel widerrufen',
  'Revoke the key': 'Schlüssel widerrufen',
  'The key that begins with `{prefix}` stops working at once, in every program that uses it, and webhooks that were created with it are paused.':
    'Der Schlüssel, der mit `{prefix}` beginnt, gilt sofort nicht mehr, in keinem Programm, das ihn benutzt, und Webhooks, die mit ihm erstellt wurden, werden angehalten.',
  'It was last used on {time}, or within the hour after.':
    'Zuletzt benutzt wurde er am {time} oder in der Stunde danach.',
  'It made {items}, itself or by keys that it made. They stay unless you revoke them too: do so if someone else has had the key.':
    'Mit ihm oder mit Schlüsseln, die er erstellt hat, wurden {items} erstellt. Sie bleiben, wenn Sie sie nicht auch widerrufen: Tun Sie das, falls jemand anderes den Schlüssel hatte.',
  'Also delete all that it made: {items}': 'Auch alles löschen, was er erstellt hat: {items}',

  // OAuth apps
  'Your OAuth apps': 'Ihre OAuth-Apps',
  'Register an app': 'App registrieren',
  'Register the app': 'App registrieren',
  'Edit an app': 'App bearbeiten',
  'Edit {name}': '{name} bearbeiten',
  'Register an app here if people should sign in to it with their account, or let it use their data. Each of them is asked, and sees which access the app requests. For a program of your own, an [API key](/account/keys) is enough.':
    'Registrieren Sie hier eine App, bei der sich Menschen mit ihrem Konto anmelden oder die deren Daten nutzen soll. Jeder wird gefragt und sieht, welchen Zugriff die App verlangt. Für ein eigenes Programm genügt ein [API-Schlüssel](/account/keys).',
  'You have registered no apps.': 'Sie haben keine Apps registriert.',
  'Client ID': 'Client-ID',
  'Connected by': 'Verbunden von',
  Registered: 'Registriert',
  'Nobody yet': 'Noch niemandem',
  '1 person': '1 Person',
  '{count} people': '{count} Personen',
  'Confidential: it keeps a secret': 'Confidential: Sie hat ein Secret',
  'Public: it has no secret': 'Public: Sie hat kein Secret',
  Opaque: 'Opak',
  'JWT (RFC 9068)': 'JWT (RFC 9068)',
  'A comma': 'Ein Komma',
  'A space': 'Ein Leerzeichen',
  'Client secret': 'Client-Secret',
  'Client secrets': 'Client-Secrets',
  'The secret proves that a request comes from your app. Keep it on your server: never in a page, a mobile app or a repository. If others may have seen it, create a new one and end the old one.':
    'Das Secret beweist, dass eine Anfrage von Ihrer App kommt. Behalten Sie es auf Ihrem Server: nie in einer Seite, einer mobilen App oder einem Repository. Wenn andere es gesehen haben könnten, erstellen Sie ein neues und beenden Sie das alte.',
  'This app has no secret.': 'Diese App hat kein Secret.',
  'A new secret is shown once.': 'Ein neues Secret wird einmal gezeigt.',
  'New secret': 'Neues Secret',
  'The one before it ends at once.': 'Das bisherige endet sofort.',
  'The one before it works for {duration} more: use the new one everywhere within that time.':
    'Das bisherige gilt noch {duration}: Verwenden Sie innerhalb dieser Zeit überall das neue.',
  End: 'Beenden',
  Ends: 'Endet',
  'End the secret {prefix}': 'Secret {prefix} beenden',
  'Not before there is a newer one': 'Nicht, bevor es ein neueres gibt',
  'End a secret': 'Secret beenden',
  'End the secret': 'Secret beenden',
  'End a secret of {name}?': 'Ein Secret von {name} beenden?',
  'The secret that begins with `{prefix}` stops working at once, wherever {name} uses it.':
    'Das Secret, das mit `{prefix}` beginnt, gilt sofort nicht mehr, wo immer {name} es verwendet.',
  '**It is the only one that works:** until the app has another, it gets no tokens.':
    '**Es ist das einzige gültige:** Bis die App ein anderes hat, erhält sie keine Tokens.',
  'Copy the client secret now: it is shown only this once. If you lose it, create a new one.':
    'Kopieren Sie das Client-Secret jetzt: Es wird nur dieses eine Mal gezeigt. Wenn Sie es verlieren, erstellen Sie ein neues.',
  'First requests': 'Erste Anfragen',
  'Add a redirect URI to let people sign in by their browser.':
    'Fügen Sie einen Redirect-URI hinzu, damit sich Menschen mit ihrem Browser anmelden können.',
  'Without one, the app can use the device flow.': 'Ohne ihn kann die App den Device Flow nutzen.',
  'Without one, the app can use the device flow, and its own access by client credentials.':
    'Ohne ihn kann die App den Device Flow nutzen und mit Client Credentials in eigenem Namen zugreifen.',
  'Send the browser to the first address, with a `state` that nobody can guess. It comes back to the redirect URI with `state` and a `code`: compare the one, and exchange the other within 60 seconds.':
    'Schicken Sie den Browser zur ersten Adresse, mit einem `state`, den niemand erraten kann. Er kommt mit `state` und einem `code` zum Redirect-URI zurück: Vergleichen Sie das eine, und tauschen Sie das andere innerhalb von 60 Sekunden ein.',
  'Authorization request': 'Autorisierungsanfrage',
  'Token request': 'Token-Anfrage',
  'Redirect URIs': 'Redirect-URIs',
  'May ask for': 'Darf bitten um',
  Anything: 'Alles',
  'Without a scope': 'Ohne Scope',
  'Access tokens': 'Access-Tokens',
  'Between scopes': 'Zwischen Scopes',
  'Requests per minute': 'Anfragen pro Minute',
  '{count}, for all people who have connected it':
    '{count}, für alle Personen zusammen, die sie verbunden haben',
  Consent: 'Einwilligung',
  'Nobody is asked: the app is part of this service':
    'Niemand wird gefragt: Die App ist Teil dieses Dienstes',
  'Delete the app': 'App löschen',
  'Delete an app': 'App löschen',
  'Delete {name}?': '{name} löschen?',
  'Nobody has connected it.': 'Niemand hat sie verbunden.',
  '1 person who has connected it loses the connection at once.':
    '1 Person, die sie verbunden hat, verliert die Verbindung sofort.',
  '{people} who have connected it lose the connection at once.':
    '{people}, die sie verbunden haben, verlieren die Verbindung sofort.',
  'Everyone who has connected {name} is disconnected: its tokens stop working at once. Its secrets and webhooks go with it. This cannot be undone.':
    'Alle, die {name} verbunden haben, werden getrennt: Ihre Tokens gelten sofort nicht mehr. Secrets und Webhooks der App werden mit gelöscht. Das lässt sich nicht rückgängig machen.',
  'Can the app keep a secret?': 'Kann die App ein Geheimnis bewahren?',
  'This cannot be changed later.': 'Das lässt sich später nicht ändern.',
  '**Yes**: it runs on a server of yours (confidential)': '**Ja**: Sie läuft auf Ihrem Server (confidential)',
  'It gets a secret, which only the server knows.': 'Sie erhält ein Secret, das nur der Server kennt.',
  '**No**: it runs where its users can inspect it (public)':
    '**Nein**: Sie läuft, wo ihre Benutzer sie untersuchen können (public)',
  'A mobile, desktop or single-page app. It has no secret, and proves by PKCE that a code is its own.':
    'Eine mobile App, eine Desktop- oder Single-Page-App. Sie hat kein Secret und beweist mit PKCE, dass ein Code ihr gehört.',
  'What the app may ask people for': 'Worum die App bitten darf',
  'Ask for as little as the app needs: people see this list, and refuse apps that want too much. If you remove a permission later, the app’s tokens lose it at once.':
    'Bitten Sie nur um das Nötige: Menschen sehen diese Liste und lehnen Apps ab, die zu viel wollen. Wenn Sie eine Berechtigung später entfernen, verlieren die Tokens der App sie sofort.',
  'Each request still names what it asks for, and the user decides.':
    'Jede Anfrage nennt trotzdem, worum sie bittet, und der Benutzer entscheidet.',
  'Choose at least one permission that the app may ask for.':
    'Wählen Sie mindestens eine Berechtigung, um die die App bitten darf.',
  'More settings': 'Weitere Einstellungen',
  'When a request names no scope': 'Wenn eine Anfrage keinen Scope nennt',
  'Refuse it': 'Ablehnen',
  'Ask for all that is chosen above': 'Um alles bitten, was oben gewählt ist',
  'Ask for these scopes:': 'Um diese Scopes bitten:',
  'Default scopes': 'Standard-Scopes',
  'By their names, separated by spaces, e.g. openid profile. Each must be among those that the app may ask for.':
    'Mit ihren Namen, durch Leerzeichen getrennt, z. B. openid profile. Um jeden muss die App bitten dürfen.',
  'The app may ask for anything: enter its default scopes.':
    'Die App darf um alles bitten: Geben Sie ihre Standard-Scopes ein.',
  'Enter at least one scope, or choose to refuse such requests.':
    'Geben Sie mindestens einen Scope ein, oder lassen Sie solche Anfragen ablehnen.',
  'There is no scope {scopes}.': 'Den Scope {scopes} gibt es nicht.',
  'The app may not ask for {scopes}: choose it above.':
    'Die App darf um {scopes} nicht bitten: Wählen Sie es oben aus.',
  'An opaque token ends at once when it is revoked. A JWT can be checked without asking this service, and lasts until it expires.':
    'Ein opakes Token endet sofort, wenn es widerrufen wird. Ein JWT lässt sich prüfen, ohne diesen Dienst zu fragen, und gilt, bis es abläuft.',
  'As the service is set: opaque': 'Wie beim Dienst eingestellt: opak',
  'As the service is set: a JWT': 'Wie beim Dienst eingestellt: ein JWT',
  'As the service is set: a comma': 'Wie beim Dienst eingestellt: ein Komma',
  'As the service is set: a space, as RFC 6749 says':
    'Wie beim Dienst eingestellt: ein Leerzeichen, wie in RFC 6749',
  'Between scopes in token responses': 'Zwischen Scopes in Token-Antworten',
  'Most libraries expect a space. Requests may have either.':
    'Die meisten Bibliotheken erwarten ein Leerzeichen. Anfragen dürfen beides enthalten.',
  'The app is part of this service': 'Die App ist Teil dieses Dienstes',
  'Nobody is asked for consent, and the app gets what it asks for as soon as somebody has signed in. Only for apps that you run.':
    'Niemand wird um Einwilligung gebeten, und die App erhält, worum sie bittet, sobald sich jemand angemeldet hat. Nur für Apps, die Sie betreiben.',
  'One per line: where the browser comes back to. They are compared character by character. https, or http on localhost, 127.0.0.1 or [::1] for development, or a scheme of the app’s own, e.g. com.example.app:/callback. After a sign-out the browser may come back to any of them too.':
    'Einer pro Zeile: wohin der Browser zurückkehrt. Sie werden Zeichen für Zeichen verglichen. https, oder http auf localhost, 127.0.0.1 oder [::1] für die Entwicklung, oder ein eigenes Schema der App, z. B. com.example.app:/callback. Auch nach einer Abmeldung darf der Browser zu jedem davon zurückkehren.',
  'What people see when they are asked for consent.':
    'Was Menschen sehen, wenn sie um Einwilligung gebeten werden.',
  'Logo (optional)': 'Logo (optional)',
  'The https address of a square picture, with a public host name. People see it when they are asked for consent; without one, the first letter of the name.':
    'Die https-Adresse eines quadratischen Bildes, mit öffentlichem Hostnamen. Menschen sehen es, wenn sie um Einwilligung gebeten werden; ohne Bild sehen sie den ersten Buchstaben des Namens.',
  'Website (optional)': 'Website (optional)',
  'Where people read more about the app.': 'Wo mehr über die App steht.',
  'Privacy policy (optional)': 'Datenschutzerklärung (optional)',
  'What the app does with people’s data.': 'Was die App mit den Daten von Menschen tut.',
  'Terms of service (optional)': 'Nutzungsbedingungen (optional)',
  'People see both before they allow anything.': 'Menschen sehen beides, bevor sie etwas erlauben.',

  // Webhooks
  Webhook: 'Webhook',
  'Add a webhook': 'Webhook hinzufügen',
  'Add the webhook': 'Webhook hinzufügen',
  'Edit a webhook': 'Webhook bearbeiten',
  'A webhook sends events to an address of yours as they happen: signed, in order, and again until they arrive. [How to receive them](/docs)':
    'Ein Webhook sendet Ereignisse an eine Adresse von Ihnen, sobald sie geschehen: signiert, der Reihe nach, und wiederholt, bis sie ankommen. [So empfangen Sie sie](/docs)',
  'You have no webhooks.': 'Sie haben keine Webhooks.',
  Sending: 'Sendet',
  Paused: 'Angehalten',
  Address: 'Adresse',
  For: 'Für',
  As: 'Als',
  'An app of yours: it receives what each of its users may see':
    'Eine App von Ihnen: Er erhält, was jeder ihrer Benutzer sehen darf',
  Events: 'Ereignisse',
  Everything: 'Alles',
  '{events}, of {collections}': '{events}, von {collections}',
  'Where events are sent by POST: an https address that can be reached from the internet.':
    'Wohin Ereignisse mit POST gesendet werden: eine https-Adresse, die aus dem Internet erreichbar ist.',
  'Description (optional)': 'Beschreibung (optional)',
  'What it is for, in your own words.': 'Wofür er ist, in Ihren Worten.',
  'Everything that happens': 'Alles, was geschieht',
  'That is, everything that you may see. Tick collections to limit it to these.':
    'Das heißt alles, was Sie sehen dürfen. Kreuzen Sie Sammlungen an, um es auf diese zu beschränken.',
  'Only of': 'Nur von',
  'Only the events that I choose here': 'Nur die Ereignisse, die ich hier wähle',
  All: 'Alle',
  Updated: 'Geändert',
  Deleted: 'Gelöscht',
  'Enter the address.': 'Geben Sie die Adresse ein.',
  'Choose at least one event.': 'Wählen Sie mindestens ein Ereignis.',
  'Signing secret': 'Signatur-Secret',
  'The signature proves to the receiver that a delivery comes from here. A new secret is shown once.':
    'Die Signatur beweist dem Empfänger, dass eine Zustellung von hier kommt. Ein neues Secret wird einmal gezeigt.',
  'Only the new one signs from then on.': 'Danach signiert nur noch das neue.',
  'For {duration} the old one signs too: change it at the receiver within that time.':
    '{duration} lang signiert auch das alte: Ersetzen Sie es innerhalb dieser Zeit beim Empfänger.',
  'Copy the signing secret now: it is shown only this once. If you lose it, create a new one.':
    'Kopieren Sie das Signatur-Secret jetzt: Es wird nur dieses eine Mal gezeigt. Wenn Sie es verlieren, erstellen Sie ein neues.',
  'Resume sending': 'Wieder senden',
  'Send a test': 'Test senden',
  'Last deliveries': 'Letzte Zustellungen',
  'Nothing has been sent yet.': 'Es wurde noch nichts gesendet.',
  Waiting: 'Wartet',
  Delivered: 'Zugestellt',
  Failed: 'Fehlgeschlagen',
  'Not sent: you can no longer see it': 'Nicht gesendet: Sie können es nicht mehr sehen',
  'Send again': 'Noch einmal senden',
  Queued: 'Eingereiht',
  Attempts: 'Versuche',
  Response: 'Antwort',
  '{status} after {duration} ms': '{status} nach {duration} ms',
  'Next attempt': 'Nächster Versuch',
  'Response body': 'Inhalt der Antwort',
  'Delete this webhook?': 'Diesen Webhook löschen?',
  'Delete a webhook': 'Webhook löschen',
  'Delete the webhook': 'Webhook löschen',
  '`{url}` gets no more events, not even those that are waiting, and the record of its deliveries is deleted. This cannot be undone. To stop for a while, turn it off instead.':
    '`{url}` erhält keine Ereignisse mehr, auch nicht die wartenden, und die Aufzeichnung der Zustellungen wird gelöscht. Das lässt sich nicht rückgängig machen. Um eine Weile auszusetzen, schalten Sie ihn stattdessen aus.',

  // The portal. Guides, the reference and the table of errors are English.
  Home: 'Startseite',
  'An API over REST and GraphQL, with events, webhooks and OAuth 2.0.':
    'Eine API über REST und GraphQL, mit Ereignissen, Webhooks und OAuth 2.0.',
  'Where to begin: the first request, every resource, every guide.':
    'Wo man beginnt: die erste Anfrage, jede Ressource, jeder Leitfaden.',
  'Every operation, with samples in curl, fetch, Python and the typed client.':
    'Jede Operation, mit Beispielen in curl, fetch, Python und dem typisierten Client.',
  'The explorer: write queries, mutations and subscriptions, with the schema next to them.':
    'Der Explorer: Schreiben Sie Queries, Mutations und Subscriptions, mit dem Schema daneben.',
  'Credentials, OAuth, events, webhooks, errors and limits, explained.':
    'Anmeldedaten, OAuth, Ereignisse, Webhooks, Fehler und Grenzen, erklärt.',
  'Your profile, API keys, apps, webhooks and security.':
    'Ihr Profil, API-Schlüssel, Apps, Webhooks und Sicherheit.',
  '{service} documentation': 'Dokumentation von {service}',
  'From the first request to every operation, event and error.':
    'Von der ersten Anfrage bis zu jeder Operation, jedem Ereignis und jedem Fehler.',
  'Use the address': 'Die Adresse benutzen',
  'Get a credential': 'Zugang erhalten',
  'Sign in or sign up, then [create an API key](/account/keys/new), or let users sign in by OAuth.':
    'Melden Sie sich an oder registrieren Sie sich; [erstellen Sie dann einen API-Schlüssel](/account/keys/new), oder lassen Sie Benutzer sich per OAuth anmelden.',
  'You are signed in: [create an API key](/account/keys/new), or let users sign in by OAuth.':
    'Sie sind angemeldet: [Erstellen Sie einen API-Schlüssel](/account/keys/new), oder lassen Sie Benutzer sich per OAuth anmelden.',
  'Public data needs no credential.': 'Öffentliche Daten brauchen keinen Zugang.',
  'Send the first request': 'Die erste Anfrage senden',
  'Every answer is JSON. An error says what is wrong, where, and how to correct it.':
    'Jede Antwort ist JSON. Ein Fehler sagt, was falsch ist, wo, und wie man es behebt.',
  'Language of the sample': 'Sprache des Beispiels',
  Reference: 'Referenz',
  Resources: 'Ressourcen',
  'For your programs': 'Für Ihre Programme',
  'Building and operating': 'Bauen und betreiben',
  'All guides': 'Alle Leitfäden',
  'On this page': 'Auf dieser Seite',
  'Neighbouring guides': 'Benachbarte Leitfäden',
  Previous: 'Zurück',
  Next: 'Weiter',
  Errors: 'Fehler',
  Status: 'Status',
  Message: 'Meldung',
  'What to do': 'Was zu tun ist',
  'Every error is `{form}`; with `Accept: application/problem+json` it has the form of RFC 9457. The code is stable; the message is for people.':
    'Jeder Fehler ist `{form}`; mit `Accept: application/problem+json` hat er die Form von RFC 9457. Der Code ist stabil; die Meldung ist für Menschen.',
  'GraphQL explorer': 'GraphQL-Explorer',
  'The explorer needs JavaScript. [The documentation](/docs) needs none, and `POST /graphql` answers every client.':
    'Der Explorer braucht JavaScript. [Die Dokumentation](/docs) braucht keines, und `POST /graphql` antwortet jedem Client.',
  'This page needs JavaScript. The document itself is {link}; the guides need none.':
    'Diese Seite braucht JavaScript. Das Dokument selbst ist {link}; die Leitfäden brauchen keines.',
} as const satisfies Readonly<Record<string, string>>
