/** Mails in a browser: each template in both languages, and `/dev/mail` of a real `portico dev`. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { createCatalogue } from '../../../src/identity/mail/catalogue.ts'
import { compose } from '../../../src/identity/mail/compose.ts'
import { mailNames, sampleValues } from '../../../src/identity/mail/values.ts'
import { withDevelopment } from '../../tools/dev/process.ts'
import { openBrowser } from './chromium.ts'
import {
  assertAccessible,
  assertWellFormed,
  chosenScreens,
  openVisitor,
  type Screens,
  saveScreenshot,
} from './visitor.ts'

let browser: Browser
before(async () => {
  browser = await openBrowser()
})
after(() => browser.close())

const windows: Screens = {
  wide: { viewport: { width: 760, height: 600 } },
  narrow: { viewport: { width: 320, height: 600 } },
  dark: { viewport: { width: 760, height: 600 }, colorScheme: 'dark' },
  'narrow and dark': { viewport: { width: 320, height: 600 }, colorScheme: 'dark' },
}

for (const [window, options] of chosenScreens(windows, 'narrow and dark')) {
  test(`every mail is accessible: ${window}`, async () => {
    const { context, page, faults } = await openVisitor(browser, options)
    const catalogue = createCatalogue()
    const theme = { name: 'Reading Room', logo: undefined, colour: '#1f5fbf' }
    const request = { at: 0, address: '203.0.113.7', device: 'Firefox, Linux' }
    for (const language of catalogue.languages) {
      for (const name of mailNames) {
        const texts = catalogue.texts(language)
        await page.setContent(compose(name, sampleValues[name], { texts, language, theme, request }).html)
        assert.equal(
          await page.evaluate('document.documentElement.scrollWidth > window.innerWidth'),
          false,
          name,
        )
        // A mail client provides the landmarks; the mail is an article in its page.
        await assertAccessible(page, ['landmark-one-main', 'region'])
        await saveScreenshot(page, `mail-${name}-${language}-${window}`)
      }
    }
    assert.deepEqual(faults, [])
    await context.close()
  })
}

/** A model that sends a mail with scripts, forms and frames. */
const model = (index: string) => `import { anyone, collection, model, on, string } from '${index}'
import { longest } from './limits.ts'
export default model(
  {
    notes: collection({
      fields: { title: string({ max: longest }) },
      access: { read: anyone, create: anyone },
    }),
  },
  {
    reactions: {
      hostile_mail: on('note.created', async ({ event, mail }) => {
        const html = '<script>parent.document.title = "owned"; fetch("/api/v1/notes")</script>' +
          '<img src=x onerror="parent.owned = 1"><form action="/account/sign-out"><button>Go</button></form>' +
          '<iframe src="/dev/mail"></iframe><p>Read on</p>'
        await mail.send({ to: 'ada@example.com', subject: event.data.title, text: 'See http://localhost/x.', html })
      }),
    },
  },
)
`

test('the mail of a sign-up is listed, shown and followed in the browser, and nothing in a mail is executed', () =>
  withDevelopment(
    {
      model: model(new URL('../../../src/index.ts', import.meta.url).pathname),
      environment: { PORTICO_SIGN_UP: 'confirmed' },
    },
    async dev => {
      await dev.waitFor(/Try it/)
      const { context, page, faults, origins } = await openVisitor(browser, {
        locale: 'de-AT',
        viewport: { width: 1024, height: 900 },
      })
      await page.goto(`${dev.url}/account/sign-up`)
      await page.getByLabel('Name').fill('visit evil.example')
      // The pages are in the language of the mails.
      await page.getByLabel('E-Mail-Adresse').fill('ada@example.com')
      await page.getByLabel('Passwort', { exact: true }).fill('correct horse battery')
      await page.getByRole('button', { name: 'Konto erstellen' }).click()
      const [, link = ''] = await dev.waitFor(/mail +to ada@example\.com: Schließen Sie .* (http:\S+)/)
      await page.goto(`${dev.url}/dev/mail`)
      await assertWellFormed(page)
      await saveScreenshot(page, 'dev-mail-list')
      await page.getByRole('link', { name: /Schließen Sie Ihre Registrierung/ }).click()
      assert.equal(page.url(), link)
      await assertWellFormed(page)
      await saveScreenshot(page, 'dev-mail-sent')
      const frame = page.frameLocator('iframe')
      assert.doesNotMatch((await frame.locator('body').textContent()) ?? '', /evil/)
      const opened = context.waitForEvent('page')
      await frame.getByRole('link', { name: 'Registrierung abschließen' }).click()
      const landed = await opened
      await landed.getByRole('heading', { level: 1 }).waitFor()
      assert.match(landed.url(), /\/account\/verify\?account=/)
      await landed.getByText('ada@example.com').first().waitFor()
      await landed.getByLabel('Passwort').fill('correct horse battery')
      await landed.getByRole('button', { name: 'Konto erstellen' }).click()
      await landed.waitForURL(/\/account\?done=verified/)
      await landed.close()
      assert.deepEqual(faults, [])

      const stranger = await openVisitor(browser, { locale: 'en-GB' })
      await stranger.page.goto(`${dev.url}/account/reset`)
      await stranger.page.getByLabel('E-mail address').fill('ada@example.com')
      await stranger.page.getByRole('button', { name: 'Send the link' }).click()
      // The language of Ada’s sign-in, whoever requests the mail.
      await dev.waitFor(/mail +to ada@example\.com: Neues Passwort bei Portico festlegen http/)
      await stranger.context.close()

      await dev.call('/api/v1/notes', { method: 'POST', body: { title: 'Hostile' } })
      const [, hostile = ''] = await dev.waitFor(/mail +to ada@example\.com: Hostile (http:\S+)/)
      await page.goto(hostile)
      await page.frameLocator('iframe').getByText('Read on').waitFor()
      assert.match(await page.title(), /^Hostile/)
      assert.equal(await page.evaluate('window.owned'), undefined)
      assert.deepEqual(
        [...origins].filter(origin => !dev.url.startsWith(origin)),
        [],
      )
      await page.goto(`${dev.url}/dev/mail/templates`)
      await assertWellFormed(page)
      await saveScreenshot(page, 'dev-mail-templates')
      await page.getByRole('link', { name: 'Neues Passwort bei Portico festlegen' }).click()
      await assertWellFormed(page)
      await saveScreenshot(page, 'dev-mail-template')
      await context.close()
    },
  ))
