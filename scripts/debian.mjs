// Installs Debian's packages as root, as on a bare machine or in a build container. Runs on the machine's own Node, from
// version 20.
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'

/** Keeps packages from starting their services (https://people.debian.org/~hmh/invokerc.d-policyrc.d-specification.txt). */
const policy = '/usr/sbin/policy-rc.d'
const maxTries = 40
const pauseMs = 3000

function isRootOnDebian() {
  return process.getuid?.() === 0 && existsSync('/etc/debian_version')
}

/** Returns whether it succeeded. Waits while another process holds the locks of apt-get. */
function apt(...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  for (let tries = 0; tries < maxTries; tries++) {
    const { status, stderr } = spawnSync('apt-get', ['-qq', ...args], { env, encoding: 'utf8' })
    if (status === 0) return true
    if (!/lock/i.test(stderr ?? '')) return false
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs)
  }
  return false
}

function installAll(names) {
  const install = (...some) => apt('install', '-y', '--no-install-recommends', ...some)
  // The lists of a new machine are empty, and old ones name versions that are gone.
  if (!apt('update') || install(...names)) return
  // One that this release of Debian lacks does not keep the others from being installed.
  if (names.length > 1) for (const name of names) install(name)
}

/**
 * Installs what it can of these packages, and says so, if this process is root on Debian. Otherwise it does nothing. The
 * caller then looks for what it needs.
 */
export function installPackages(names, say) {
  if (names.length === 0 || !isRootOnDebian()) return
  say(`Installing with apt-get (once): ${names.join(', ')} …`)
  const isOwner = !existsSync(policy)
  if (isOwner) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    installAll(names)
  } finally {
    if (isOwner) rmSync(policy, { force: true })
  }
}
