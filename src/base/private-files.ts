/** Data files: their permissions, their owner, and syncs to disk. */
import { closeSync, constants, fchmodSync, fchownSync, fsyncSync, openSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Gives a file that root creates to the owner of the folder, as whom the service runs: otherwise the service could not open
 * files that an administrator's command has created. It uses the file handle, which a symbolic link cannot redirect.
 */
function giveToFolderOwner(handle: number, path: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(dirname(resolve(path)))
  fchownSync(handle, uid, gid)
}

/** Creates an empty file that only its owner may read, and opens it for writing. */
export function openPrivate(path: string): number {
  const handle = openSync(path, 'wx', 0o600)
  giveToFolderOwner(handle, path)
  return handle
}

/** Lets only the owner of a file read and write it. */
export function makePrivate(path: string): void {
  const handle = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
  try {
    fchmodSync(handle, 0o600)
    giveToFolderOwner(handle, path)
  } finally {
    closeSync(handle)
  }
}

/** Syncs the content of a file to disk. */
export function syncFile(path: string): void {
  sync(path, 'r+')
}

/** Syncs the folder of a file that was created, renamed or deleted. */
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
