/** The oldest npm that comes with a Node from version 20: Debian 13's. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const version = '9.2.0'
const sha512 = 'oypVdaWGHDuV79RXLvp+B9gh6gDyAmoHKrQ0/JBYTWWx5D8/+AAxFdZC84fSIiyDdyW4qfrSyYGKhekxDOaMXQ=='

/** Fetches it into `folder` from the registry. Returns a folder for the PATH, with this npm in it. */
export function fetchOldestNpm(folder: string): string {
  const packed = mkdtempSync(join(folder, 'npm-'))
  execFileSync('npm', ['pack', `npm@${version}`], { cwd: packed, stdio: 'pipe' })
  const tarball = join(packed, `npm-${version}.tgz`)
  assert.equal(createHash('sha512').update(readFileSync(tarball)).digest('base64'), sha512)
  execFileSync('tar', ['-xzf', tarball], { cwd: packed })
  const programs = join(packed, 'programs')
  mkdirSync(programs)
  symlinkSync(join(packed, 'package', 'bin', 'npm-cli.js'), join(programs, 'npm'))
  return programs
}
