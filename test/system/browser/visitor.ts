/** A browser that visits a service and records faults. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { isWhole } from '../../cases.ts'

/** The faults of a page. */
export interface PageFaults {
  readonly page: Page
  /** Errors on the console, uncaught errors, and violations of the page’s policy. */
  readonly faults: string[]
  /** The origins of its requests. */
  readonly origins: Set<string>
}

export interface Visitor extends PageFaults {
  readonly context: BrowserContext
}

const reportViolations = `document.addEventListener('securitypolicyviolation', violation =>
  console.error(violation.violatedDirective + ' forbids ' + violation.blockedURI))`

/** The console reports refused requests too; other tests check them. */
const refusals = /^Failed to load resource: the server responded with a status of (400|401|403|404|405|429)/

/** Records what the page does from now on. `isKnown` tells which messages are no faults. */
export async function recordFaults(page: Page, isKnown = (_text: string) => false): Promise<PageFaults> {
  const faults: string[] = []
  const origins = new Set<string>()
  page.on('console', message => {
    if (message.type() === 'error' && !isKnown(message.text())) faults.push(message.text())
  })
  page.on('pageerror', error => faults.push(String(error)))
  page.on('request', request => {
    if (!request.url().startsWith('data:')) origins.add(new URL(request.url()).origin)
  })
  await page.addInitScript(reportViolations)
  return { page, faults, origins }
}

export async function openVisitor(browser: Browser, options: BrowserContextOptions = {}): Promise<Visitor> {
  const context = await browser.newContext({ viewport: { width: 1024, height: 800 }, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(120_000)
  return { context, ...(await recordFaults(page, text => refusals.test(text))) }
}

export type Screens = Readonly<Record<string, BrowserContextOptions>>

/** The screens on which pages are tested: `test:all` takes one of them, which differs between the tests of pages. */
export function chosenScreens(screens: Screens, short: string): [string, BrowserContextOptions][] {
  return Object.entries(screens).filter(([name]) => isWhole || name === short)
}

/** A virtual authenticator (WebAuthn Level 3, 11), which verifies its user or not. */
export async function addAuthenticator(page: Page, isUserVerified: boolean): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified,
      automaticPresenceSimulation: true,
    },
  })
}

/** Saves a screenshot to the folder SHOTS, if set. */
export async function saveScreenshot(page: Page, name: string): Promise<void> {
  const folder = process.env.SHOTS
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
}

/** Controls without an accessible name. */
const nameless = `[...document.querySelectorAll('button, input:not([type=hidden]), a[href]')]
  .filter(({ labels, title, ariaLabel, textContent }) => !labels?.length && !title && !ariaLabel && !textContent.trim())
  .map(element => element.outerHTML)`

/** Texts whose contrast with their background is below 4.5 (WCAG 2.2). */
const lowContrast = `(() => {
  const parse = colour => (colour.match(/[\\d.]+/g) || []).map(Number)
  const linear = part => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4)
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
  const background = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor)
      if (colour.length === 3 || colour[3] === 1) return colour
    }
    return [255, 255, 255]
  }
  return [...document.querySelectorAll('main *, header *')]
    .filter(element => [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim()))
    .filter(element => element.getClientRects().length > 0)
    .flatMap(element => {
      const [a, b] = [luminance(parse(getComputedStyle(element).color)), luminance(background(element))]
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
      return ratio < 4.5 ? [element.textContent.trim().slice(0, 40) + ': ' + ratio.toFixed(2)] : []
    })
})()`

/** Elements less than 12 pixels below the previous one, or above the end of the page. */
const crowded = `(() => {
  const shown = [...document.querySelector('main').children].filter(({ offsetHeight }) => offsetHeight > 0)
  const boxes = shown.map(element => element.getBoundingClientRect())
  // Children may extend below their parent.
  const bottom = element => Math.max(...[element, ...element.children].filter(child => child.checkVisibility())
    .map(child => child.getBoundingClientRect().bottom))
  const end = { top: document.documentElement.scrollHeight - window.scrollY }
  return shown.filter((element, at) => (boxes[at + 1] || end).top - bottom(element) < 11.5)
    .map(({ outerHTML }) => outerHTML.slice(0, 80))
})()`

const ids = `(() => { const all = [...document.querySelectorAll('[id]')].map(({ id }) => id)
  return all.filter((id, at) => all.indexOf(id) !== at) })()`

/** The minified source is half as long as `axe.source`, and each page loads it. */
const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** The violations of axe-core’s rules, with their elements. */
const axeCall = (without: readonly string[]) => `axe.run(document, { resultTypes: ['violations'], rules: {
  ${without.map(rule => `'${rule}': { enabled: false }`)} } }).then(({ violations }) => violations.flatMap(
  ({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ': ' + html + ' ' + failureSummary)))`

/** Checks WCAG and best practices with axe-core, except for the rules `without`. The debugger injects it, past the policy. */
export async function assertAccessible(page: Page, without: readonly string[] = []): Promise<void> {
  await page.evaluate(`${axe}; undefined`)
  assert.deepEqual(await page.evaluate(axeCall(without)), [], page.url())
}

/** What every page must have, whatever its content. Needs JavaScript in the browser. */
export async function assertWellFormed(page: Page): Promise<void> {
  const where = page.url()
  assert.equal(await page.locator('html').getAttribute('lang'), 'en', where)
  assert.match(await page.title(), /\w/, where)
  assert.equal(await page.getByRole('main').count(), 1, where)
  assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1, where)
  assert.equal(await page.locator('img:not([alt])').count(), 0, where)
  assert.deepEqual(await page.evaluate(nameless), [], where)
  assert.deepEqual(await page.evaluate(ids), [], where)
  assert.deepEqual(await page.evaluate(lowContrast), [], where)
  assert.deepEqual(await page.evaluate(crowded), [], where)
  await assertAccessible(page)
  assert.equal(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth'), false, where)
}
