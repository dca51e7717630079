/** Pages of a service with a mail server, and the links in its mails. */
import assert from 'node:assert/strict'
import type { GivenSettings } from '../../../src/server/config/config.ts'
import blog from '../../models/blog.ts'
import type { Setup } from '../../setups/setup.ts'
import type { Browser, Departure, Form, Page } from '../conformance/browser.ts'
import { type Fixture, withFixture } from '../conformance/server.ts'
import { type Received, withSmtp } from '../smtp.ts'

export function page(answer: Page | Departure): Page {
  assert.ok('text' in answer, `the browser left for ${'location' in answer ? answer.location.href : ''}`)
  return answer
}

export function formWithField({ forms, url }: Page, has: string): Form {
  const found = forms.find(({ fields }) => fields.some(({ name }) => name === has))
  assert.ok(found, `${url.pathname} has no form with ${has}`)
  return found
}

export async function open(browser: Browser, path: string | URL): Promise<Page> {
  return page(await browser.open(path))
}

/** The addresses to which mails have been sent. */
export function addressees({ commands }: Received): readonly string[] {
  return commands.flatMap(line => /^RCPT TO:<([^>]*)>/i.exec(line)?.[1] ?? [])
}

/** The path of the newest link; mails are sent after the response. */
export async function newestLink(received: Received, pattern: RegExp): Promise<string> {
  for (let count = 0; count < 200; count++) {
    // Word joiners keep what a user chose from becoming a link: see `quoted.ts`.
    const text = received.data
      .replace(/=\n/g, '')
      .replace(/=E2=81=A0/g, '')
      .replace(/=3D/g, '=')
    const [found] = [...text.matchAll(pattern)].map(([path]) => path).reverse()
    if (found !== undefined) return found
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  assert.fail(`no message has ${pattern}`)
}

/** Runs `use` with a service whose mails are delivered. */
export async function withMail(
  use: (fixture: Fixture, received: Received) => Promise<void>,
  { setup, ...settings }: GivenSettings & { readonly setup?: Setup } = {},
): Promise<void> {
  await withSmtp((smtp, received) =>
    withFixture({ 'mail.smtp': smtp, ...settings }, fixture => use(fixture, received), blog, setup),
  )
}
