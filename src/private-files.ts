/** The files of one's data: who may read them, whose they are, and when they are on disk. */
import { closeSync, constants, fchmodSync, fchownSync, fsyncSync, openSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * What root makes belongs to the owner of the folder, whom the service runs as: made by a command of an
 * administrator's, it could not be opened by the service. By its handle, which no link can lead astray.
 */
function leaveToFolderOwner(handle: number, path: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(dirname(resolve(path)))
  fchownSync(handle, uid, gid)
}

/** A new, empty file that only its owner may read; open for writing. */
export function openPrivate(path: string): number {
  const handle = openSync(path, 'wx', 0o600)
  leaveToFolderOwner(handle, path)
  return handle
}

/** Lets the owner of a file read and write it, and nobody else. */
export function makePrivate(path: string): void {
  const handle = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
  try {
    fchmodSync(handle, 0o600)
    leaveToFolderOwner(handle, path)
  } finally {
    closeSync(handle)
  }
}

/** Waits until what `path` holds is on disk. */
export function syncFile(path: string): void {
  sync(path, 'r+')
}

/** Waits until the name of `path` is on disk, or is gone from there: a name belongs to its folder. */
export function syncName(path: string): void {
  if (process.platform !== 'win32') sync(dirname(resolve(path)), 'r')
}

function sync(path: string, flags: string): void {
  const handle = openSync(path, flags)
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
