/** A real browser: the Chromium of the machine, driven by playwright-core. */
import { type Browser, chromium } from 'playwright-core'
import { findProgram } from '../../programs.ts'

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
  return chromium.launch({ executablePath: findProgram('chromium'), headless: true, args: flags })
}
