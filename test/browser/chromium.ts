/** A real browser: Chromium as the machine has it, driven by playwright-core. */
import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

const names = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']

/** What the browser would otherwise do by itself must not count as what the page does. */
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function onPath(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.flatMap(folder => names.map(name => join(folder, name))).find(isProgram)
}

/** Debian and root, as in a container of a build: the package can simply be had. */
function install(): void {
  if (!existsSync('/etc/debian_version') || process.getuid?.() !== 0) return
  const quiet = { stdio: 'ignore', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } } as const
  try {
    execFileSync('apt-get', ['update', '-qq'], quiet)
    execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'chromium'], quiet)
  } catch {
    // The sentence of `find` says what to do.
  }
}

function find(): string {
  const given = process.env.CHROMIUM
  if (given !== undefined && given !== '') return given
  const found = onPath()
  if (found !== undefined) return found
  install()
  const installed = onPath()
  if (installed !== undefined) return installed
  throw new Error(
    'There is no Chromium: install it (Debian: `apt-get install chromium`), or name its file in CHROMIUM.',
  )
}

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: find(), headless: true, args: flags })
}
