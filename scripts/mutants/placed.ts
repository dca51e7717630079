/** Whether a mutant still fits the sources. */
import { stripTypeScriptTypes } from 'node:module'
import type { Mutant } from './mutant.ts'

/** What is wrong with the mutant in this source; undefined: nothing. */
export function faultOf({ text, instead }: Mutant, source: string): string | undefined {
  const count = source.split(text).length - 1
  if (count !== 1) return `its text occurs ${count} times`
  if (text === instead) return 'it changes nothing'
  try {
    stripTypeScriptTypes(source.split(text).join(instead))
  } catch {
    return 'with it the file is no TypeScript, which every test would notice'
  }
  return undefined
}

/** Names a test file that does not exist: the whole run would stop there. */
export function missingTest({ tests }: Mutant, exists: (file: string) => boolean): string | undefined {
  const missing = tests.map(test => test.split('#')[0] ?? '').find(file => !exists(file))
  return missing === undefined ? undefined : `${missing} does not exist`
}
