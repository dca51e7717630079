// Allows one process at a time: concurrent commands and tests in a clone would read incomplete builds of each other.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { root } from './packages.mjs'

const file = join(root, '.cache', 'build.lock')
const pollMs = 100

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** Returns whether this process now holds the lock. Removes the file of a process that was killed, for the next attempt. */
function tryLock() {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
  try {
    if (!isAlive(Number(readFileSync(file, 'utf8')))) rmSync(file, { force: true })
  } catch (error) {
    // The other process has released the lock.
    if (error.code !== 'ENOENT') throw error
  }
  return false
}

/** Runs `work` when no other process of this clone holds the lock. */
export async function exclusively(work) {
  mkdirSync(join(root, '.cache'), { recursive: true })
  while (!tryLock()) await wait(pollMs)
  try {
    return await work()
  } finally {
    rmSync(file, { force: true })
  }
}
