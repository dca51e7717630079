/** A real browser: the Chromium of the machine, driven by playwright-core. */
import { type Browser, chromium } from 'playwright-core'
import { findProgram, type Program } from '../programs.ts'

const program: Program = {
  // Without windows it needs a third less time.
  names: ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'],
  variable: 'CHROMIUM',
  package: 'chromium-headless-shell',
}

/** Disables requests that the browser itself would make, since tests attribute every request to the page. */
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: findProgram(program), headless: true, args: flags })
}
