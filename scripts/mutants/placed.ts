/** Checks that a mutant still applies to the sources. */
import { stripTypeScriptTypes } from 'node:module'
import type { Mutant } from './mutant.ts'

/** Why the mutant cannot be applied to this source; undefined if it can. */
export function faultOf({ text, replacement }: Mutant, source: string): string | undefined {
  const count = source.split(text).length - 1
  if (count !== 1) return `its text occurs ${count} times`
  if (text === replacement) return 'it changes nothing'
  try {
    stripTypeScriptTypes(source.split(text).join(replacement))
  } catch {
    return 'with it the file is not valid TypeScript, so every test would fail'
  }
  return undefined
}

/** Names a test file that does not exist, at which the whole run would stop; undefined if all exist. */
export function missingTest({ tests }: Mutant, exists: (file: string) => boolean): string | undefined {
  const missing = tests.map(test => test.split('#')[0] ?? '').find(file => !exists(file))
  return missing === undefined ? undefined : `${missing} does not exist`
}
